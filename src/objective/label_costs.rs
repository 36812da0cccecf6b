//! Label costs as integers: what each label saves in each case.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::case_costs::{CaseTable, columns_of, too_much_in_common};
use super::matrix::{Matrix, check_matrix};
use super::units::MOST_UNITS;
use super::weighing::{ClassWeight, class_weighed};
use super::{CostScale, FINE, Objective, Rewards, Units, sum};
use crate::budget::Budget;
use crate::data::{Dataset, Labels, Schema, Target, TargetSchema, Task};
use crate::error::{Error, Result};
use crate::names::quoted;
use crate::scale::Scale;
use crate::tree::{Node, Tree};

/// What a label costs in a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Loss {
    /// Its mass where the label is wrong.
    #[default]
    Errors,
    /// The same with the mass of each class divided by that of all its cases, and by how many classes there are: one
    /// less the balanced accuracy. Classes have no weights besides.
    BalancedErrors,
    /// Its mass times the cost of taking its class, a row, for the label, a column. Finite, of any sign. Labels after
    /// the classes are named.
    Matrix {
        /// A row per class, in the order of the labels of the data.
        costs: Vec<Vec<f64>>,
        /// The names of columns beyond the classes.
        extra: Vec<String>,
    },
    /// What the dataset says, [`Dataset::costs`], times the mass of the case.
    PerCase,
}

/// The objective of an exact search: costs of labels, as a [`Loss`] says.
#[derive(Debug)]
pub struct LabelCosts<'a> {
    data: Cow<'a, Dataset>,
    /// Masses of cases.
    units: Units,
    /// The schema of trees: that of the data, with the labels that leaves may have.
    schema: Arc<Schema>,
    table: Table,
    weighs_classes: bool,
    /// All rewards are multiplied by this, so that the penalty is whole.
    times: u64,
    scale: CostScale,
    total: u64,
}

/// Where rewards come from.
#[derive(Debug)]
enum Table {
    /// A case saves its mass under its own class.
    Errors,
    /// Per class the labels that save something, and how much per unit of mass.
    Matrix(Vec<Rewards>),
    /// Costs of each case.
    PerCase(CaseTable),
}

/// The name of the label that says "don't know".
pub(crate) const ABSTAIN: &str = "abstain";

impl<'a> LabelCosts<'a> {
    /// `abstain` is the cost, per unit of mass, of a label of its own that says "don't know"; `None`: there is no such
    /// label. Where the time of the budget is over before a unit of costs of each case is found, they are rounded.
    ///
    /// # Errors
    /// If there is no row, weights or costs cannot be brought to a common unit ([`Error::BadWeight`],
    /// [`Error::InvalidParameter`], [`Error::BadCosts`]), the costs are not those of the classes of the data, or class
    /// weights are given for balanced errors.
    pub fn new(
        data: &'a Dataset,
        loss: &Loss,
        class_weight: &ClassWeight,
        abstain: Option<f64>,
        node_penalty: f64,
        budget: &Budget,
    ) -> Result<Self> {
        let data = without_weightless_classes(data, class_weight)?;
        if *loss == Loss::BalancedErrors && *class_weight != ClassWeight::Equal {
            return Err(Self::weighed_twice());
        }
        // A leaf whose label costs as much as an error never beats the class of greatest mass.
        let abstain = abstain.filter(|&price| price < 1.0 || !matches!(loss, Loss::Errors | Loss::BalancedErrors));
        let class_weight = if *loss == Loss::BalancedErrors { &ClassWeight::Balanced } else { class_weight };
        match (loss, abstain) {
            (Loss::Errors | Loss::BalancedErrors, None) => {
                // Units of weights alone have room for the penalty from the start.
                let is_plain = *class_weight == ClassWeight::Equal;
                let units = match is_plain {
                    true => Units::new(&data, node_penalty)?,
                    false => class_weighed(&data, class_weight, MOST_UNITS)?,
                };
                let scale = match loss {
                    Loss::BalancedErrors => CostScale::new((1.0, units.total.max(1) as f64), 0),
                    _ => units.cost_scale(),
                };
                let (total, schema, table) = (units.total, data.schema().clone(), Table::Errors);
                let costs = Self { data, units, schema, table, weighs_classes: false, times: 1, scale, total };
                if is_plain { Ok(costs) } else { costs.with_penalty(node_penalty) }
            }
            (Loss::Errors | Loss::BalancedErrors, Some(price)) => {
                let n_classes = n_classes(&data);
                let matrix = Matrix::of_errors(n_classes, price)?;
                let is_share = *loss == Loss::BalancedErrors;
                Self::with_matrix(data, class_weight, matrix, vec![ABSTAIN.into()], is_share, node_penalty)
            }
            (Loss::Matrix { costs, extra }, abstain) => {
                let labels = data.schema().labels();
                check_matrix(costs, extra, labels)?;
                let mut costs = Cow::Borrowed(costs);
                let mut extra = extra.clone();
                if let Some(price) = abstain {
                    costs.to_mut().iter_mut().for_each(|row| row.push(price));
                    extra.push(ABSTAIN.into());
                }
                Self::with_matrix(data, class_weight, Matrix::new(&costs)?, extra, false, node_penalty)
            }
            (Loss::PerCase, abstain) => Self::per_case(data, class_weight, abstain, node_penalty, budget),
        }
    }

    /// What is said of class weights beside balanced errors.
    pub(crate) fn weighed_twice() -> Error {
        Error::InvalidParameter {
            name: "class_weight",
            expected: "None where the objective is \"balanced_errors\", which weighs all classes alike".into(),
            got: "class weights".into(),
        }
    }

    fn with_matrix(
        data: Cow<'a, Dataset>,
        class_weight: &ClassWeight,
        matrix: Matrix,
        extra: Vec<String>,
        is_share: bool,
        node_penalty: f64,
    ) -> Result<Self> {
        let most_of_case = matrix.rewards.iter().map(|rewards| sum(rewards)).max().unwrap_or(0).max(1);
        let units = class_weighed(&data, class_weight, MOST_UNITS / (most_of_case as f64).log2().ceil().exp2())?;
        let mut masses = vec![0u128; n_classes(&data)];
        if let Target::Classes(classes) = data.target() {
            let present = classes.iter().enumerate().filter(|&(row, _)| data.count(row) > 0);
            present.for_each(|(row, &class)| masses[class as usize] += u128::from(units.mass(&data, row)));
        }
        let (mut total, mut offset) = (0u128, 0i128);
        for ((rewards, &base), &mass) in matrix.rewards.iter().zip(&matrix.base).zip(&masses) {
            total += mass * u128::from(sum(rewards));
            offset += mass as i128 * (base - i128::from(sum(rewards)));
        }
        let of_mass = if is_share { (1.0, units.total.max(1) as f64) } else { units.unit() };
        let unit = product(of_mass, matrix.unit);
        let scale = CostScale { offset, ..CostScale::new(unit, 0) };
        let schema = with_labels(data.schema(), extra)?;
        if total >= 1 << 61 {
            return Err(Error::InvalidParameter {
                name: "objective",
                expected: format!("costs of fewer digits for {} rows", data.n_rows()),
                got: "costs that, with the masses of the rows, are not whole below 2^61".into(),
            });
        }
        Self {
            data,
            units,
            schema,
            table: Table::Matrix(matrix.rewards),
            weighs_classes: false,
            times: 1,
            scale,
            total: total as u64,
        }
        .with_penalty(node_penalty)
    }

    fn per_case(
        data: Cow<'a, Dataset>,
        class_weight: &ClassWeight,
        abstain: Option<f64>,
        node_penalty: f64,
        budget: &Budget,
    ) -> Result<Self> {
        let Some(costs) = data.costs() else {
            return Err(Error::InvalidParameter {
                name: "objective",
                expected: "\"costs\" only for a dataset that has costs: Dataset(..., costs=...)".into(),
                got: "\"costs\" and a dataset without them".into(),
            });
        };
        let (mut columns, mut extra) = columns_of(costs, data.schema())?;
        if abstain.is_some() {
            columns.push(None);
            extra.push(ABSTAIN.into());
        }
        let has_classes = matches!(data.target(), Target::Classes(_));
        let schema = match has_classes {
            true => with_labels(data.schema(), extra)?,
            false => {
                let labels = match extra.pop_if(|_| abstain.is_some()) {
                    Some(abstain) => Labels::WithExtra { classes: Labels::Strings(extra).into(), extra: vec![abstain] },
                    None => Labels::Strings(extra),
                };
                let mut name = String::from("label");
                while data.schema().features.iter().any(|feature| feature.name == name) {
                    name.push('_');
                }
                let target = TargetSchema { name, task: Task::Classes(labels), dtype: "String".into() };
                Schema { features: data.schema().features.clone(), target: Some(target) }.checked()?.into()
            }
        };
        let units = match has_classes {
            true => class_weighed(&data, class_weight, MOST_UNITS)?,
            false => Units::within(&data, MOST_UNITS)?,
        };
        let table = |weights: Option<Units>, scale: Scale| {
            let (columns, abstain) = (columns.clone(), abstain.unwrap_or(0.0));
            CaseTable { columns, weights, scale, abstain }
        };
        let unweighted = table(None, Scale::ONE);
        let weighs = data.weights().is_some() || *class_weight != ClassWeight::Equal;
        let mass = |row: usize| if weighs { units.mass(&data, row) } else { data.count(row) };
        let (weights, scale, unit) = match unweighted.exact_scale(&data, &mass, budget) {
            Some(scale) => (None, scale, product(if weighs { units.unit() } else { (1.0, 1.0) }, scale.unit())),
            None => {
                let weighted = table(Some(units.clone()), Scale::ONE);
                let scale = match weighted.exact_scale(&data, &|row| data.count(row), budget) {
                    Some(scale) => scale,
                    None => weighted.rounding_scale(&data)?,
                };
                (weighted.weights, scale, scale.unit())
            }
        };
        // What is lost where there was no time to look for an exact scale would not be lost otherwise.
        let refuses = budget.check().is_ok();
        let times: &dyn Fn(usize) -> u64 = if weights.is_some() { &|row| data.count(row) } else { &mass };
        let table = table(weights, scale);
        let (total, offset) = table.totals(&data, times, refuses)?;
        let scale = CostScale { offset, ..CostScale::new(unit, 0) };
        let weighs_classes = *class_weight != ClassWeight::Equal;
        let table = Table::PerCase(table);
        Self { data, units, schema, table, weighs_classes, times: 1, scale, total }.with_penalty(node_penalty)
    }

    /// Makes the penalty a whole number of units: of smaller ones where it has to be.
    fn with_penalty(mut self, node_penalty: f64) -> Result<Self> {
        if node_penalty == 0.0 {
            return Ok(self);
        }
        let penalty = node_penalty / self.scale.resolution;
        // A penalty of more than all that can be saved allows no split: how much more does not matter.
        if penalty >= 2.0 * self.total as f64 {
            self.scale.node_penalty = self.total + 1;
            return Ok(self);
        }
        let all = self.total as f64 + penalty;
        let exact = Scale::exact(|| [1.0, penalty].into_iter(), all, MOST_UNITS, 0);
        let times = exact.map_or_else(|| Scale::grid(all, MOST_UNITS).whole(1.0), |scale| scale.whole(1.0)).max(1);
        let whole = exact.map_or_else(|| (penalty * times as f64).round() as u64, |scale| scale.whole(penalty));
        if (whole as f64 / (penalty * times as f64) - 1.0).abs() > FINE {
            let (name, got) = ("node_penalty", format!("{node_penalty:?}"));
            let expected =
                format!("0, or at least 2^-36 of all that labels can save, {:?}", self.scale.value(self.total));
            return Err(Error::InvalidParameter { name, expected, got });
        }
        let CostScale { unit: (numerator, denominator), offset, .. } = self.scale;
        let offset = offset.checked_mul(i128::from(times)).ok_or_else(too_much_in_common)?;
        self.scale = CostScale { offset, ..CostScale::new((numerator, denominator * times as f64), whole) };
        self.times *= times;
        self.total *= times;
        Ok(self)
    }

    /// The data, where cases of classes without weight are absent.
    pub(crate) fn data(&self) -> &Dataset {
        &self.data
    }

    /// Masses of cases.
    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    /// The schema of trees.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// A tree that knows what its labels cost: by class, or in the cases of each node. O(rows x (depth + labels)).
    pub(crate) fn priced(&self, tree: Tree, loss: &Loss, abstain: Option<f64>) -> Result<Tree> {
        if let Table::PerCase(table) = &self.table {
            return self.priced_by_case(table, tree);
        }
        let Loss::Matrix { costs, .. } = loss else { return Ok(tree) };
        let n_labels = self.n_labels();
        let mut square = vec![vec![0.0; n_labels]; n_labels];
        for (row, costs) in square.iter_mut().zip(costs) {
            row[..costs.len()].copy_from_slice(costs);
            row[costs.len()..].fill(abstain.unwrap_or(0.0));
        }
        tree.with_costs(&square)
    }

    fn priced_by_case(&self, table: &CaseTable, tree: Tree) -> Result<Tree> {
        let (data, n_labels) = (&*self.data, self.n_labels());
        let mut costs = vec![0.0; tree.nodes().len() * n_labels];
        for (row, &leaf) in tree.apply(data, 0..data.n_rows())?.iter().enumerate() {
            // Weights are in the costs, or in the masses.
            let times = match table.weights {
                None => self.units.value(self.units.mass(data, row)),
                Some(_) => data.count(row) as f64,
            };
            let of_leaf = &mut costs[leaf as usize * n_labels..][..n_labels];
            of_leaf.iter_mut().zip(table.costs_of(data, row)).for_each(|(sum, cost)| *sum += times * cost);
        }
        // Children stand after their parents.
        for (index, node) in tree.nodes().iter().enumerate().rev() {
            let Node::Split(split) = node else { continue };
            for label in 0..n_labels {
                costs[index * n_labels + label] =
                    split.children.iter().map(|&child| costs[child as usize * n_labels + label]).sum();
            }
        }
        tree.with_label_costs(costs)
    }
}

impl Objective for LabelCosts<'_> {
    fn n_labels(&self) -> usize {
        self.schema.labels().map_or(0, Labels::len)
    }

    #[inline]
    fn rewards(&self, row: usize, rewards: &mut Rewards) {
        rewards.clear();
        let class = || match self.data.target() {
            Target::Classes(classes) => classes[row],
            _ => 0,
        };
        match &self.table {
            Table::Errors => rewards.push((class(), self.units.mass(&self.data, row) * self.times)),
            Table::Matrix(of_class) => {
                let mass = self.units.mass(&self.data, row) * self.times;
                rewards.extend(of_class[class() as usize].iter().map(|&(label, reward)| (label, reward * mass)));
            }
            Table::PerCase(table) => {
                table.rewards(&self.data, row, rewards);
                let weighs = table.weights.is_none() && (self.data.weights().is_some() || self.weighs_classes);
                let of_row = if weighs { self.units.mass(&self.data, row) } else { self.data.count(row) };
                let times = of_row * self.times;
                rewards.iter_mut().for_each(|(_, reward)| *reward *= times);
            }
        }
    }

    fn class_rewards(&self) -> Option<(&[u32], u64)> {
        match (&self.table, self.data.target()) {
            (Table::Errors, Target::Classes(classes)) => {
                Some((classes, self.units.of_every_row(&self.data)? * self.times))
            }
            _ => None,
        }
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn scale(&self) -> &CostScale {
        &self.scale
    }
}

/// The product of two units.
fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    match a.0 * b.0 {
        x if x < 1e250 => (x, a.1 * b.1),
        _ => (a.0 * (b.0 / b.1), a.1),
    }
}

fn n_classes(data: &Dataset) -> usize {
    data.schema().labels().map_or(0, Labels::len)
}

/// Cases of classes that weigh nothing are absent.
fn without_weightless_classes<'a>(data: &'a Dataset, class_weight: &ClassWeight) -> Result<Cow<'a, Dataset>> {
    let (ClassWeight::Each(factors), Target::Classes(classes)) = (class_weight, data.target()) else {
        return Ok(Cow::Borrowed(data));
    };
    let n_classes = n_classes(data);
    if factors.len() != n_classes {
        return Err(Error::InvalidParameter {
            name: "class_weight",
            expected: format!("a weight for each of the {n_classes} classes"),
            got: format!("{} weights", factors.len()),
        });
    }
    if !factors.contains(&0.0) {
        return Ok(Cow::Borrowed(data));
    }
    let weight = |(row, &class): (usize, &u32)| match factors[class as usize] {
        0.0 => 0.0,
        _ => data.weights().map_or(1.0, |weights| weights[row]),
    };
    Ok(Cow::Owned(data.reweighted(classes.iter().enumerate().map(weight).collect())))
}

/// The schema with more labels for leaves.
fn with_labels(schema: &Arc<Schema>, extra: Vec<String>) -> Result<Arc<Schema>> {
    let (Some(target), false) = (&schema.target, extra.is_empty()) else { return Ok(schema.clone()) };
    let Task::Classes(labels) = &target.task else { return Ok(schema.clone()) };
    let classes: FxHashSet<String> = (0..labels.len()).map(|code| labels.text(code)).collect();
    if let Some(label) = extra.iter().find(|&label| classes.contains(label)) {
        let problem = format!("the label {} is that of a class already", quoted(label));
        return Err(Error::BadCosts { problem });
    }
    let labels = Labels::WithExtra { classes: Box::new(labels.clone()), extra };
    let target = TargetSchema { task: Task::Classes(labels), ..target.clone() };
    Ok(Schema { features: schema.features.clone(), target: Some(target) }.checked()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limits;
    use crate::data::CaseCosts;

    /// A table without columns, of these classes out of three.
    fn table(classes: &[u32], weights: Option<Vec<f64>>) -> Dataset {
        let task = Task::Classes(Labels::Integers(vec![0, 1, 2]));
        let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let schema = Schema { features: vec![], target: Some(target) };
        let target = Target::Classes(classes.into());
        Dataset::new(schema.into(), vec![], classes.len(), target, None, weights).expect("good weights")
    }

    fn matrix(costs: &[[f64; 3]; 3]) -> Loss {
        Loss::Matrix { costs: costs.iter().map(|row| row.to_vec()).collect(), extra: vec![] }
    }

    fn rewards(costs: &LabelCosts, row: usize) -> Vec<(u32, u64)> {
        let mut rewards = Rewards::new();
        costs.rewards(row, &mut rewards);
        rewards.to_vec()
    }

    /// The cost of a leaf of every label, in the user's numbers.
    fn leaves(costs: &LabelCosts, n_rows: usize) -> Vec<f64> {
        let mut saved = vec![0; costs.n_labels()];
        (0..n_rows).flat_map(|row| rewards(costs, row)).for_each(|(label, reward)| saved[label as usize] += reward);
        let all: u64 = saved.iter().sum();
        saved.iter().map(|saved| costs.scale().value(all - saved)).collect()
    }

    fn new<'a>(data: &'a Dataset, loss: &Loss, abstain: Option<f64>, node_penalty: f64) -> Result<LabelCosts<'a>> {
        LabelCosts::new(data, loss, &ClassWeight::Equal, abstain, node_penalty, &Budget::unlimited())
    }

    #[test]
    fn leaves_cost_what_was_said() {
        let data = table(&[0, 0, 1, 2, 2, 2], None);
        let errors = new(&data, &Loss::Errors, None, 0.0).expect("errors");
        assert_eq!(leaves(&errors, 6), [4.0, 5.0, 3.0]);
        let abstaining = new(&data, &Loss::Errors, Some(0.3), 0.0).expect("a price");
        assert_eq!(leaves(&abstaining, 6), [4.0, 5.0, 3.0, 1.8]);
        assert_eq!(abstaining.schema().labels().expect("classes").text(3), "abstain");
        // Whoever abstains at the price of an error never does.
        assert_eq!(new(&data, &Loss::Errors, Some(1.0), 0.0).expect("a price").n_labels(), 3);
        let balanced = new(&data, &Loss::BalancedErrors, None, 0.0).expect("all classes");
        assert_eq!(leaves(&balanced, 6), [2.0 / 3.0; 3]);
        let costs =
            new(&data, &matrix(&[[0.0, 0.1, 0.2], [5.0, -1.0, 0.0], [0.3, 0.3, 0.3]]), None, 0.05).expect("costs");
        assert_eq!(leaves(&costs, 6), [5.9, 0.1, 1.3]);
        assert_eq!((costs.scale().resolution, costs.scale().node_penalty), (0.05, 1));
    }

    #[test]
    fn costs_of_cases_need_no_classes() {
        let values = vec![1.5, -0.5, 0.0, 1e9 + 0.25, 1e9, 1e9 + 0.5];
        let costs = CaseCosts::new(vec!["2".into(), "0".into(), "1".into()], values.clone(), 2).expect("finite");
        let classed = table(&[0, 2], None).with_costs(costs.clone()).expect("two rows");
        let of_classes = new(&classed, &Loss::PerCase, None, 0.0).expect("costs");
        assert_eq!(leaves(&of_classes, 2), [1e9 - 0.5, 1e9 + 0.5, 1e9 + 1.75]);
        let schema = Schema { features: vec![], target: None };
        let data = Dataset::new(schema.into(), vec![], 2, Target::None, None, Some(vec![1.0, 0.5])).expect("weights");
        let data = data.with_costs(costs).expect("two rows");
        let costs = new(&data, &Loss::PerCase, None, 0.0).expect("costs");
        assert_eq!(leaves(&costs, 2), [1.5 + 5e8 + 0.125, -0.5 + 5e8, 5e8 + 0.25]);
        assert_eq!(costs.schema().labels().expect("labels").text(0), "2");
    }

    #[test]
    fn costs_are_rounded_where_the_time_is_over() {
        let spent = Budget::new(Limits { seconds: Some(0.0), ..Limits::default() });
        let labels: Vec<String> = ["0", "1", "2"].map(String::from).into();
        for (values, weights) in [
            (vec![1.0 / 3.0, 2.0, -5.0 / 3.0, 4e3, 1.0 / 7.0, 0.0], None),
            // Exact costs are refused, since one row's are lost beside the other's; a leaf is due all the same.
            (vec![1e-300, 1.1e-300, 1.7e-300, 1e300, 3.0, 0.0], Some(vec![1.0, std::f64::consts::PI])),
        ] {
            let costs = CaseCosts::new(labels.clone(), values.clone(), 2).expect("finite");
            let data = table(&[0, 1], weights.clone()).with_costs(costs).expect("two rows");
            let costs = LabelCosts::new(&data, &Loss::PerCase, &ClassWeight::Equal, None, 0.0, &spent).expect("costs");
            let weight = |row: usize| weights.as_ref().map_or(1.0, |weights| weights[row]);
            let magnitude: f64 = values.iter().map(|cost| weight(1) * cost.abs()).sum();
            for (label, leaf) in leaves(&costs, 2).into_iter().enumerate() {
                let cost = weight(0) * values[label] + weight(1) * values[3 + label];
                assert!((leaf - cost).abs() <= 1e-12 * magnitude, "{label}: {leaf} and {cost}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let data = table(&[0, 1], None);
        let problem = |loss: &Loss| new(&data, loss, None, 0.0).expect_err("it does not fit").to_string();
        assert!(problem(&matrix(&[[0.0, f64::NAN, 1.0], [0.0; 3], [0.0; 3]])).contains("finite"));
        assert!(problem(&matrix(&[[0.0, 1e30, 1.0], [0.0; 3], [0.0; 3]])).contains("2^-20"));
        assert!(problem(&Loss::Matrix { costs: vec![vec![0.0; 3]; 2], extra: vec![] }).contains("2 rows"));
        assert!(problem(&Loss::Matrix { costs: vec![vec![0.0; 3]; 3], extra: vec!["x".into()] }).contains("4 columns"));
        let extra = Loss::Matrix { costs: vec![vec![0.0; 4]; 3], extra: vec!["2".into()] };
        assert!(problem(&extra).contains("a class already"));
        assert!(problem(&Loss::PerCase).contains("without them"));
        let with = |labels: &[&str], values: &[f64]| {
            let labels = labels.iter().map(|&label| label.into()).collect();
            let costs = CaseCosts::new(labels, values.to_vec(), 2)?;
            let data = table(&[0, 1], None).with_costs(costs)?;
            new(&data, &Loss::PerCase, None, 0.0).map(|costs| leaves(&costs, 2))
        };
        let problem = |labels: &[&str], values: &[f64]| with(labels, values).expect_err("it does not fit").to_string();
        assert!(
            problem(&["0", "1"], &[0.0; 4]).contains("class \"2\"")
                || problem(&["0", "1"], &[0.0; 4]).contains("class 2")
        );
        assert!(problem(&["0", "0", "1"], &[0.0; 6]).contains("twice"));
        assert!(problem(&["0", "1", "2"], &[0.0, 0.0, 0.0, 0.0, f64::INFINITY, 0.0]).contains("in row 1"));
        assert!(problem(&["0", "1", "2"], &[0.0; 5]).contains("5 for 2 rows"));
        let lost = [1.0, 1.1e-300, 1.7e-300, 1e300, std::f64::consts::PI, 0.0];
        assert!(problem(&["0", "1", "2"], &[1e-300, 1.1e-300, 1.7e-300, lost[3], lost[4], lost[5]]).contains("row 0"));
        assert_eq!(with(&["0", "1", "2"], &[0.5; 6]), Ok(vec![1.0; 3]));
        let weights = ClassWeight::Each(vec![1.0; 3]);
        assert!(LabelCosts::new(&data, &Loss::BalancedErrors, &weights, None, 0.0, &Budget::unlimited()).is_err());
        let penalty = new(&data, &Loss::BalancedErrors, None, 1e-300).expect_err("too small");
        assert!(matches!(penalty, Error::InvalidParameter { name: "node_penalty", .. }), "{penalty}");
    }
}

//! Floats in JSON, for `#[serde(with = ...)]`: a number or, since JSON has no infinities, the string `"inf"` or
//! `"-inf"`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, \"inf\" or \"-inf\"")]
enum Float {
    Finite(f64),
    Infinite(Infinite),
}

#[derive(Serialize, Deserialize)]
enum Infinite {
    #[serde(rename = "inf")]
    Positive,
    #[serde(rename = "-inf")]
    Negative,
}

pub(crate) fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *x {
        f64::INFINITY => Float::Infinite(Infinite::Positive),
        f64::NEG_INFINITY => Float::Infinite(Infinite::Negative),
        x => Float::Finite(x),
    }
    .serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(match Float::deserialize(deserializer)? {
        Float::Finite(x) => x,
        Float::Infinite(Infinite::Positive) => f64::INFINITY,
        Float::Infinite(Infinite::Negative) => f64::NEG_INFINITY,
    })
}

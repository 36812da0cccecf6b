//! Trees written out: as indented text, as a graph, and as JSON, the format of tree files.

mod dot;
mod json;
mod node_record;
mod text;

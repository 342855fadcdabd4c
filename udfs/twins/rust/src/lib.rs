//! Functions that do what built-in parts of the engine do; ../README.md tells each.

mod aggregate;
mod assigner;
mod evictor;
mod join;
mod trigger;

use wasmstream::types::{BigInt, Double, Float, Int};
use wasmstream::{fail, module, schema, Any, Column, Columns, Row};

schema! {
    /// What a rule needs: those of triggers and evictors.
    pub struct Rule {
        rule: String,
        field: String = "",
        threshold: Double = 0,
    }
}

module! {
    "tumbling" => Assigner(assigner::Tumbling),
    "tumbling-processing" => Assigner(assigner::TumblingProcessing),
    "sliding" => Assigner(assigner::Sliding),
    "sliding-processing" => Assigner(assigner::SlidingProcessing),
    "session" => Assigner(assigner::Session),
    "session-processing" => Assigner(assigner::SessionProcessing),
    "trigger" => Trigger(trigger::Rules),
    "evictor" => Evictor(evictor::Evicting),
    "aggregate" => Aggregate(aggregate::Calls),
    "join" => Join(join::Joining),
}

/// A column of numbers of any type.
#[derive(Clone, Copy)]
pub enum Number {
    Int(Column<Any, Int>),
    BigInt(Column<Any, BigInt>),
    Float(Column<Any, Float>),
    Double(Column<Any, Double>),
}

impl Number {
    /// The column of that name; None for the name of no column.
    pub fn find(columns: &Columns, name: &str) -> Option<Number> {
        if name.is_empty() {
            return None;
        }
        let found = columns.find(name).map(Number::Int);
        let found = found.or_else(|| columns.find(name).map(Number::BigInt));
        let found = found.or_else(|| columns.find(name).map(Number::Float));
        let found = found.or_else(|| columns.find(name).map(Number::Double));
        found.or_else(|| fail(&["there is no column ", name, " of numbers"].concat()))
    }

    /// The field as a whole number, of columns that have such.
    pub fn whole(self, row: Row<Any>) -> Option<i64> {
        match self {
            Number::Int(column) => row.get(column).map(i64::from),
            Number::BigInt(column) => row.get(column),
            Number::Float(_) | Number::Double(_) => None,
        }
    }

    /// The field as a DOUBLE, NaN if it is null.
    pub fn double(self, row: Row<Any>) -> f64 {
        let value = match self {
            Number::Int(column) => row.get(column).map(f64::from),
            Number::BigInt(column) => row.get(column).map(|n| n as f64),
            Number::Float(column) => row.get(column).map(f64::from),
            Number::Double(column) => row.get(column),
        };
        value.unwrap_or(f64::NAN)
    }
}

/// A number of a rule.
pub fn number(word: Option<&str>) -> i64 {
    match word.and_then(|word| word.parse().ok()) {
        Some(n) => n,
        None => fail(&["the rule has no number where one is needed: ", word.unwrap_or("")].concat()),
    }
}

#[test]
fn cases() {
    wasmstream::testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

//! Up to four aggregates of columns.

use crate::Number;
use wasmstream::types::{BigInt, Double, Int};
use wasmstream::*;

schema! {
    pub struct Wanted {
        calls: String,
    }
    /// Three columns for each call: the value of whole numbers, that of DOUBLEs, and how many values there were.
    pub struct Accumulator {
        a_int: BigInt, a_float: Double, a_seen: BigInt,
        b_int: BigInt, b_float: Double, b_seen: BigInt,
        c_int: BigInt, c_float: Double, c_seen: BigInt,
        d_int: BigInt, d_float: Double, d_seen: BigInt,
    }
}

type Cells = (Column<Accumulator, BigInt>, Column<Accumulator, Double>, Column<Accumulator, BigInt>);

const CELLS: [Cells; 4] = [
    (Accumulator::a_int, Accumulator::a_float, Accumulator::a_seen),
    (Accumulator::b_int, Accumulator::b_float, Accumulator::b_seen),
    (Accumulator::c_int, Accumulator::c_float, Accumulator::c_seen),
    (Accumulator::d_int, Accumulator::d_float, Accumulator::d_seen),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Count,
    Sum,
    Min,
    Max,
    Avg,
}

/// Where a call's result goes.
enum Out {
    Int(Column<Any, Int>),
    BigInt(Column<Any, BigInt>),
    Double(Column<Any, Double>),
}

struct Call {
    kind: Kind,
    column: Option<Number>,
    out: Out,
}

impl Call {
    fn is_double(&self) -> bool {
        matches!(self.column, Some(Number::Double(_)))
    }
}

pub struct Calls {
    calls: Vec<Call>,
}

impl Function for Calls {
    type Parameters = Wanted;

    fn open(open: &Open<Wanted>) -> Calls {
        let mut output = Columns::new();
        let mut read = Vec::new();
        for line in open.parameters().value(Wanted::calls).lines() {
            let words: Vec<&str> = line.split('\t').collect();
            if words.len() != 3 || read.len() == CELLS.len() {
                fail("`calls` is up to four lines of a kind, a column and a name");
            }
            let kind = match words[0] {
                "count" => Kind::Count,
                "sum" => Kind::Sum,
                "min" => Kind::Min,
                "max" => Kind::Max,
                "avg" => Kind::Avg,
                _ => fail(&["no aggregate is called ", words[0]].concat()),
            };
            let column = Number::find(open.input(), words[1]);
            let same = matches!(kind, Kind::Min | Kind::Max);
            let sql = match column {
                Some(Number::Int(_)) if same => "INT",
                Some(Number::Double(_)) => "DOUBLE",
                Some(Number::Float(_)) => fail("columns of FLOAT are not known here"),
                _ => "BIGINT",
            };
            output.add(words[2], sql);
            read.push((kind, column, words[2]));
        }
        open.declare(&output);
        let call = |(kind, column, name): (Kind, Option<Number>, &str)| {
            let out = output.find(name).map(Out::Int).or_else(|| output.find(name).map(Out::BigInt));
            Call { kind, column, out: out.unwrap_or_else(|| Out::Double(output.need(name))) }
        };
        Calls { calls: read.into_iter().map(call).collect() }
    }
}

fn overflow() -> i64 {
    fail("overflow: the sum leaves 64 bits")
}

/// Adds values, as many as were seen.
fn include(acc: &mut RowMut<Accumulator>, call: &Call, cells: Cells, int: i64, float: f64, seen: i64) {
    let (ints, floats, seens) = cells;
    let first = acc.value(seens) == 0;
    let (old_int, old_float) = (acc.value(ints), acc.value(floats));
    match call.kind {
        Kind::Count => {}
        Kind::Sum | Kind::Avg => {
            acc.set(ints, old_int.checked_add(int).unwrap_or_else(overflow));
            acc.set(floats, old_float + float);
        }
        Kind::Min | Kind::Max => {
            let (less_int, less_float) = match call.kind {
                Kind::Min => (int < old_int, float < old_float),
                _ => (int > old_int, float > old_float),
            };
            if first || less_int {
                acc.set(ints, int);
            }
            if first || less_float {
                acc.set(floats, float);
            }
        }
    }
    acc.set(seens, acc.value(seens) + seen);
}

impl Aggregate for Calls {
    type Input = Any;
    type Accumulator = Accumulator;
    type Output = Any;

    fn add(&self, acc: &mut RowMut<Accumulator>, record: Row<Any>) {
        for (call, cells) in self.calls.iter().zip(CELLS) {
            match call.column {
                None => include(acc, call, cells, 0, 0.0, 1),
                Some(Number::Double(column)) => {
                    if let Some(value) = record.get(column) {
                        include(acc, call, cells, 0, value, 1);
                    }
                }
                Some(column) => {
                    if let Some(value) = column.whole(record) {
                        include(acc, call, cells, value, 0.0, 1);
                    }
                }
            }
        }
    }

    fn merge(&self, acc: &mut RowMut<Accumulator>, other: Row<Accumulator>) {
        for (call, cells) in self.calls.iter().zip(CELLS) {
            let (ints, floats, seens) = cells;
            if other.value(seens) != 0 {
                include(acc, call, cells, other.value(ints), other.value(floats), other.value(seens));
            }
        }
    }

    fn result(&self, acc: Row<Accumulator>, out: &mut RowMut<Any>) {
        for (call, (ints, floats, seens)) in self.calls.iter().zip(CELLS) {
            let seen = acc.value(seens);
            let (mut int, mut float) = (acc.value(ints), acc.value(floats));
            match call.kind {
                Kind::Count => int = seen,
                Kind::Avg if seen != 0 && call.is_double() => float /= seen as f64,
                Kind::Avg if seen != 0 => int /= seen,
                _ => {}
            }
            let there = seen != 0 || call.kind == Kind::Count;
            match call.out {
                Out::Int(column) => out.put(column, Some(int as i32).filter(|_| there)),
                Out::BigInt(column) => out.put(column, Some(int).filter(|_| there)),
                Out::Double(column) => out.put(column, Some(float).filter(|_| there)),
            }
        }
    }
}

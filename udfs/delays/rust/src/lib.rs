//! The aggregate function of the hourly-delays job: how many flights, the sum of their delays and the longest one.

use wasmstream::{module, schema, Aggregate, Function, Open, Row, RowMut};

schema! {
    pub struct Flight {
        delay: Int,
    }

    /// The accumulator, and the result.
    pub struct Totals {
        flights: BigInt,
        delay_sum: BigInt,
        delay_max: Int,
    }
}

pub struct Delays;

impl Function for Delays {
    type Parameters = ();
    const DOC: &'static str = "number of flights, sum and maximum of their delays; as in SQL, null without any delay";

    fn open(_: &Open<()>) -> Delays {
        Delays
    }
}

impl Aggregate for Delays {
    type Input = Flight;
    type Accumulator = Totals;
    type Output = Totals;

    fn create(&self, acc: &mut RowMut<Totals>) {
        acc.set_null(Totals::delay_sum);
        acc.set_null(Totals::delay_max);
    }

    fn add(&self, acc: &mut RowMut<Totals>, flight: Row<Flight>) {
        acc.set(Totals::flights, acc.value(Totals::flights) + 1);
        if let Some(delay) = flight.get(Flight::delay) {
            include(acc, delay as i64, delay);
        }
    }

    fn merge(&self, acc: &mut RowMut<Totals>, other: Row<Totals>) {
        acc.set(Totals::flights, acc.value(Totals::flights) + other.value(Totals::flights));
        if let Some(longest) = other.get(Totals::delay_max) {
            include(acc, other.value(Totals::delay_sum), longest);
        }
    }

    fn result(&self, acc: Row<Totals>, out: &mut RowMut<Totals>) {
        out.copy(acc);
    }
}

/// Adds a sum and a maximum that are there. A null sum reads as 0.
fn include(acc: &mut RowMut<Totals>, sum: i64, longest: i32) {
    acc.set(Totals::delay_sum, acc.value(Totals::delay_sum) + sum);
    acc.set(Totals::delay_max, acc.get(Totals::delay_max).map_or(longest, |max| max.max(longest)));
}

module! {
    "delays" => Aggregate(Delays),
}

#[test]
fn cases() {
    wasmstream::testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

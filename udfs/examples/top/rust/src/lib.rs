//! Finds the items that come most often, by a sketch (space-saving): each of eight counters has an item; an item without a
//! counter takes that of the rarest, and counts on from there.

use wasmstream::types::BigInt;
use wasmstream::*;

schema! {
    pub struct Sale {
        item: BigInt,
    }
    /// Counters whose n is 0 have no item.
    pub struct Sketch {
        a: BigInt, a_n: BigInt, b: BigInt, b_n: BigInt, c: BigInt, c_n: BigInt, d: BigInt, d_n: BigInt,
        e: BigInt, e_n: BigInt, f: BigInt, f_n: BigInt, g: BigInt, g_n: BigInt, h: BigInt, h_n: BigInt,
    }
    pub struct Top {
        first: BigInt,
        first_n: BigInt,
        second: BigInt,
        second_n: BigInt,
        third: BigInt,
        third_n: BigInt,
    }
}

/// A counter: its item, and how often that came.
type Counter = (Column<Sketch, BigInt>, Column<Sketch, BigInt>);

const COUNTERS: [Counter; 8] = [
    (Sketch::a, Sketch::a_n),
    (Sketch::b, Sketch::b_n),
    (Sketch::c, Sketch::c_n),
    (Sketch::d, Sketch::d_n),
    (Sketch::e, Sketch::e_n),
    (Sketch::f, Sketch::f_n),
    (Sketch::g, Sketch::g_n),
    (Sketch::h, Sketch::h_n),
];

const PLACES: [(Column<Top, BigInt>, Column<Top, BigInt>); 3] =
    [(Top::first, Top::first_n), (Top::second, Top::second_n), (Top::third, Top::third_n)];

function! {
    /// the items that come most often, by a sketch of eight counters (space-saving): counts may be too high, never too low
    pub struct TopItems;
}

/// Counts an item so many times.
fn include(acc: &mut RowMut<Sketch>, item: i64, times: i64) {
    let has = |(of, n): &&Counter| acc.value(*n) > 0 && acc.value(*of) == item;
    let rarest = || COUNTERS.iter().min_by_key(|(_, n)| acc.value(*n));
    if let Some((of, n)) = COUNTERS.iter().find(has).or_else(rarest) {
        acc.set(*of, item);
        acc.set(*n, acc.value(*n) + times);
    }
}

impl Aggregate for TopItems {
    type Input = Sale;
    type Accumulator = Sketch;
    type Output = Top;

    fn add(&self, acc: &mut RowMut<Sketch>, sale: Row<Sale>) {
        if let Some(item) = sale.get(Sale::item) {
            include(acc, item, 1);
        }
    }

    fn merge(&self, acc: &mut RowMut<Sketch>, other: Row<Sketch>) {
        for (of, n) in COUNTERS {
            if other.value(n) > 0 {
                include(acc, other.value(of), other.value(n));
            }
        }
    }

    fn result(&self, acc: Row<Sketch>, out: &mut RowMut<Top>) {
        let mut counters = COUNTERS.map(|(of, n)| (-acc.value(n), acc.value(of))); // of those alike the smaller item first
        counters.sort_unstable();
        for ((place, place_n), (n, item)) in PLACES.into_iter().zip(counters) {
            out.put(place, Some(item).filter(|_| n < 0));
            out.put(place_n, Some(-n).filter(|_| n < 0));
        }
    }
}

module! {
    "top" => Aggregate(TopItems),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

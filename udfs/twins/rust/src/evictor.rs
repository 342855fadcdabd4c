//! Evictors by count, time and difference.

use crate::{number, Number, Rule};
use wasmstream::*;

enum Kind {
    Count(i64),
    Time(i64),
    Delta,
}

pub struct Evicting {
    kind: Kind,
    field: Option<Number>,
    threshold: f64,
}

impl Function for Evicting {
    type Parameters = Rule;

    fn open(open: &Open<Rule>) -> Evicting {
        let parameters = open.parameters();
        let mut words = parameters.value(Rule::rule).split(' ');
        let kind = match words.next() {
            Some("count") => Kind::Count(number(words.next())),
            Some("time") => Kind::Time(number(words.next())),
            Some("delta") => Kind::Delta,
            _ => fail("no evictor is called so"),
        };
        let field = Number::find(open.input(), parameters.value(Rule::field));
        Evicting { kind, field, threshold: parameters.value(Rule::threshold) }
    }
}

impl Evicting {
    fn double(&self, row: Row<Any>) -> f64 {
        self.field.map_or(f64::NAN, |field| field.double(row))
    }
}

impl Evictor for Evicting {
    type Input = Any;
    type Key = ();

    fn evict(&self, window: &mut Eviction<(), Any>) {
        let elements = window.elements();
        match self.kind {
            Kind::Count(kept) => {
                let leave = (elements.len() as i64).saturating_sub(kept).max(0);
                (0..leave as usize).for_each(|i| window.evict(i));
            }
            Kind::Time(span) => {
                // Without a time on the first element Flink looks at none.
                if window.elements().next().map_or(true, |first| first.time.is_none()) {
                    return;
                }
                let time = |e: Element<Any>| e.time.unwrap_or_else(|| fail("an element has no timestamp"));
                let bound = window.elements().map(time).max().unwrap_or(i64::MIN).wrapping_sub(span);
                for (i, element) in elements.enumerate() {
                    if time(element) <= bound {
                        window.evict(i);
                    }
                }
            }
            Kind::Delta => {
                let last = window.elements().next_back().map_or(f64::NAN, |last| self.double(last.row));
                for (i, element) in elements.enumerate() {
                    if last - self.double(element.row) >= self.threshold {
                        window.evict(i);
                    }
                }
            }
        }
    }
}

//! A row of each session, those of bots apart: a bot clicks too fast for too long.

use wasmstream::*;

schema! {
    pub struct Click {
        page: String,
    }
    pub struct Person {
        user: String,
    }
    pub struct Visit {
        user: String,
        start: Timestamp,
        clicks: BigInt,
        first: String,
        last: String,
    }
    pub struct Bot {
        clicks: BigInt = 20,
        /// milliseconds
        gap: BigInt = 500,
    }
}

outputs! {
    struct Outputs {
        bots: Visit,
    }
}

pub struct Visits {
    /// How many clicks a bot makes, and how far apart they are at the most, on average.
    clicks: i64,
    gap: i64,
}

impl Function for Visits {
    type Parameters = Bot;
    const DOC: &'static str = "visits, without those of bots, which click too fast for too long";
    const OUTPUTS: &'static [NamedOutput] = Outputs::ALL;

    fn open(open: &Open<Bot>) -> Visits {
        let parameters = open.parameters();
        Visits { clicks: parameters.value(Bot::clicks), gap: parameters.value(Bot::gap) }
    }
}

impl Apply for Visits {
    type Key = Person;
    type Input = Click;
    type Output = Visit;

    fn apply(&self, window: &mut Group<Person, Click, Visit>) {
        // Elements come in order of arrival, which is not that of time.
        let first = window.elements().min_by_key(|click| click.time);
        let last = window.elements().max_by_key(|click| click.time);
        let (first, last) = match (first, last) {
            (Some(first), Some(last)) => (first, last),
            _ => return,
        };
        let clicks = window.elements().len() as i64;
        let (start, end) = match (first.time, last.time) {
            (Some(start), Some(end)) => (start, end),
            _ => fail("a click without a time"),
        };
        let fill = |visit: &mut RowMut<Visit>| {
            visit.set(Visit::user, window.key().value(Person::user));
            visit.set(Visit::start, start);
            visit.set(Visit::clicks, clicks);
            visit.set(Visit::first, first.row.value(Click::page));
            visit.set(Visit::last, last.row.value(Click::page));
        };
        if clicks >= self.clicks && end - start <= self.gap * (clicks - 1) {
            window.emit_to(Outputs::bots, fill);
        } else {
            window.emit(fill);
        }
    }
}

module! {
    "visits" => Apply(Visits),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

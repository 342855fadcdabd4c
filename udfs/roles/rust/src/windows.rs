//! Functions of windows.

use crate::{Number, Pair, Payment};
use wasmstream::*;

schema! {
    pub struct Contents {
        start: BigInt,
        elements: BigInt,
        sum: BigInt,
        before: BigInt,
        windows: BigInt,
    }
    pub struct Names {
        first: String,
        n: BigInt,
        longest: String,
    }
    pub struct Describes {
        start: BigInt,
        end: BigInt,
        n: BigInt,
    }
    pub struct Size {
        /// milliseconds
        size: BigInt = 60000,
    }
    pub struct Silence {
        /// milliseconds of silence
        size: BigInt = 60000,
    }
    pub struct Times {
        /// elements
        size: BigInt = 3,
    }
    pub struct Kept {
        /// elements
        size: BigInt = 2,
    }
}

states! {
    struct ContentStates {
        fired: Value<Number> { scope: "window" },
        windows: Value<Number>,
    }
}

states! {
    struct EveryStates {
        seen: Reducing<Number>,
    }
}

function! {
    /// the sum of amounts
    pub struct Total;
    /// the payment with the larger amount
    pub struct Largest;
    /// the first user, the longest name, and how many there were
    pub struct Longest;
    /// what is in a window, and how often it fired
    pub struct Content: states(ContentStates);
    /// a result with its window
    pub struct Described;
    /// the sums of both sides
    pub struct Balance;
}

impl Aggregate for Total {
    type Input = Payment;
    type Accumulator = Number;
    type Output = Number;

    fn add(&self, acc: &mut RowMut<Number>, payment: Row<Payment>) {
        acc.set(Number::n, acc.value(Number::n) + payment.value(Payment::amount));
    }

    fn merge(&self, acc: &mut RowMut<Number>, other: Row<Number>) {
        acc.set(Number::n, acc.value(Number::n) + other.value(Number::n));
    }

    fn result(&self, acc: Row<Number>, out: &mut RowMut<Number>) {
        out.copy(acc);
    }
}

impl Longest {
    fn include(acc: &mut RowMut<Names>, first: Option<&str>, n: i64, longest: &str) {
        if acc.is_null(Names::first) {
            acc.put(Names::first, first);
        }
        acc.set(Names::n, acc.value(Names::n) + n);
        if longest.len() > acc.value(Names::longest).len() {
            acc.set(Names::longest, longest);
        }
    }
}

impl Aggregate for Longest {
    type Input = Payment;
    type Accumulator = Names;
    type Output = Names;

    fn create(&self, acc: &mut RowMut<Names>) {
        acc.set_null(Names::first);
    }

    fn add(&self, acc: &mut RowMut<Names>, payment: Row<Payment>) {
        Longest::include(acc, payment.get(Payment::user), 1, payment.value(Payment::user));
    }

    fn merge(&self, acc: &mut RowMut<Names>, other: Row<Names>) {
        Longest::include(acc, other.get(Names::first), other.value(Names::n), other.value(Names::longest));
    }

    fn result(&self, acc: Row<Names>, out: &mut RowMut<Names>) {
        out.copy(acc);
    }
}

impl Reduce for Largest {
    type Input = Payment;

    fn reduce(&self, acc: &mut RowMut<Payment>, payment: Row<Payment>) {
        if payment.value(Payment::amount) > acc.value(Payment::amount) {
            acc.copy(payment);
        }
    }
}

impl Apply for Content {
    type Key = ();
    type Input = Payment;
    type Output = Contents;

    fn apply(&self, window: &mut Group<(), Payment, Contents>) {
        let count = |state: Option<Row<Number>>| state.map_or(0, |state| state.value(Number::n));
        let before = count(window.get(ContentStates::fired));
        let windows = count(window.get(ContentStates::windows)) + (before == 0) as i64;
        window.edit(ContentStates::fired).set(Number::n, before + 1);
        window.edit(ContentStates::windows).set(Number::n, windows);
        window.emit(|out| {
            out.set(Contents::start, window.start());
            out.set(Contents::elements, window.elements().len() as i64);
            out.set(Contents::sum, window.elements().map(|e| e.row.value(Payment::amount)).sum());
            out.set(Contents::before, before);
            out.set(Contents::windows, windows);
        });
    }
}

impl Apply for Described {
    type Key = ();
    type Input = Number;
    type Output = Describes;

    fn apply(&self, window: &mut Group<(), Number, Describes>) {
        window.emit(|out| {
            out.set(Describes::start, window.start());
            out.set(Describes::end, window.end());
            out.put(Describes::n, window.result().and_then(|result| result.get(Number::n)));
        });
    }
}

/// Functions with a size as their parameter.
macro_rules! sized {
    ($($name:ident, $parameters:ident, $doc:literal, $states:expr;)*) => {$(
        pub struct $name {
            size: i64,
        }

        impl Function for $name {
            type Parameters = $parameters;
            const DOC: &'static str = $doc;
            const STATES: &'static [State] = $states;

            fn open(open: &Open<$parameters>) -> $name {
                $name { size: open.parameters().value($parameters::size) }
            }
        }
    )*};
}

sized! {
    Tumbling, Size, "windows of a size", &[];
    Gap, Silence, "sessions", &[];
    Every, Times, "fires each time so many elements came, and purges at the end", EveryStates::ALL;
    Newest, Kept, "keeps the last elements", &[];
}

fn time(moment: &Moment) -> i64 {
    moment.time().unwrap_or_else(|| fail("a record without a timestamp"))
}

impl Assigner for Tumbling {
    type Input = ();

    fn assign(&self, _: Row<()>, moment: &Moment, windows: &mut Windows) {
        let start = time(moment) - time(moment).rem_euclid(self.size);
        windows.assign(start, start + self.size);
    }
}

impl Assigner for Gap {
    type Input = ();
    const MERGES: bool = true;

    fn assign(&self, _: Row<()>, moment: &Moment, windows: &mut Windows) {
        windows.assign(time(moment), time(moment) + self.size);
    }
}

impl Trigger for Every {
    type Input = Payment;
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, _: Row<Payment>, window: &mut Window<()>) -> Decision {
        if window.last() > window.watermark() {
            window.set_timer(Domain::Event, window.last());
        }
        let seen = window.get(EveryStates::seen).map_or(0, |seen| seen.value(Number::n)) + 1;
        if seen < self.size {
            window.edit(EveryStates::seen).set(Number::n, seen);
            return Decision::Continue;
        }
        window.clear(EveryStates::seen);
        Decision::Fire
    }

    fn on_event_time(&self, window: &mut Window<()>) -> Decision {
        match window.time() == Some(window.last()) {
            true => Decision::FireAndPurge,
            false => Decision::Continue,
        }
    }

    fn on_merge(&self, window: &mut Window<()>) {
        let seen = |i| window.merged_state(i, EveryStates::seen).map_or(0, |seen| seen.value(Number::n));
        let sum: i64 = (0..window.merged()).map(seen).sum();
        if sum > 0 {
            window.edit(EveryStates::seen).set(Number::n, sum);
        }
        if window.last() > window.watermark() {
            window.set_timer(Domain::Event, window.last());
        }
    }

    fn clear(&self, window: &mut Window<()>) {
        window.clear(EveryStates::seen);
        window.delete_timer(Domain::Event, window.last());
    }
}

/// Before the function all but the last elements leave, after it those of amount 0.
impl Evictor for Newest {
    type Input = Payment;
    type Key = ();

    fn evict(&self, window: &mut Eviction<(), Payment>) {
        let count = window.elements().len();
        for (i, element) in window.elements().enumerate() {
            let leaves = match window.is_after() {
                true => element.row.value(Payment::amount) == 0,
                false => i as i64 + self.size < count as i64,
            };
            if leaves {
                window.evict(i);
            }
        }
    }
}

impl CoGroup for Balance {
    type Key = ();
    type Input = Payment;
    type Second = Payment;
    type Output = Pair;

    fn co_group(&self, sides: &mut Sides<(), Payment, Payment, Pair>) {
        sides.emit(|out| {
            out.set(Pair::amount, sides.left().map(|e| e.row.value(Payment::amount)).sum());
            out.set(Pair::other, sides.right().map(|e| e.row.value(Payment::amount)).sum());
        });
    }
}

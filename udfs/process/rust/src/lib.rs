//! The process functions of benchmarks, as ../c has them.

use wasmstream::*;

schema! {
    pub struct Bid {
        bidder: BigInt,
    }
    pub struct Ticks {
        records: BigInt,
        times: BigInt,
    }
    pub struct Told {
        bidder: BigInt,
        records: BigInt,
        times: BigInt,
    }
    pub struct Counted {
        n: BigInt,
        last: Timestamp,
    }
    pub struct Silent {
        bidder: BigInt,
        n: BigInt,
    }
    pub struct Gap {
        /// milliseconds
        gap: BigInt = 1000,
    }
}

states! {
    struct TickStates {
        ticks: Value<Ticks>,
    }
}

states! {
    struct IdleStates {
        counted: Value<Counted>,
    }
}

/// Functions with a gap as their parameter.
macro_rules! with_gap {
    ($($name:ident, $doc:literal, $states:ident;)*) => {$(
        pub struct $name {
            gap: i64,
        }

        impl Function for $name {
            type Parameters = Gap;
            const DOC: &'static str = $doc;
            const STATES: &'static [State] = $states::ALL;

            fn open(open: &Open<Gap>) -> $name {
                $name { gap: open.parameters().value(Gap::gap) }
            }
        }
    )*};
}

with_gap! {
    Tick, "how many records and times of records a key had", TickStates;
    Idle, "how many records a key had when none came for a while", IdleStates;
}

impl Process for Tick {
    type Key = Bid;
    type Input = Bid;
    type Output = Told;

    fn on_record(&self, _: Row<Bid>, context: &mut Keyed<Bid, Told>) {
        let time = context.time().unwrap_or(i64::MIN);
        let mut ticks = context.edit(TickStates::ticks);
        let records = ticks.value(Ticks::records);
        ticks.set(Ticks::records, records + 1);
        if records == 0 {
            context.set_timer(Domain::Event, i64::MAX);
        }
        context.set_timer(Domain::Event, time.wrapping_add(self.gap));
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<Bid, Told>) {
        if context.time() != Some(i64::MAX) {
            let mut ticks = context.edit(TickStates::ticks);
            ticks.set(Ticks::times, ticks.value(Ticks::times) + 1);
            return;
        }
        if let Some(ticks) = context.get(TickStates::ticks) {
            context.emit(|told| {
                told.set(Told::bidder, context.key().value(Bid::bidder));
                told.set(Told::records, ticks.value(Ticks::records));
                told.set(Told::times, ticks.value(Ticks::times));
            });
        }
        context.clear(TickStates::ticks);
    }
}

/// Timers that a later record has overtaken say nothing.
impl Process for Idle {
    type Key = Bid;
    type Input = Bid;
    type Output = Silent;

    fn on_record(&self, _: Row<Bid>, context: &mut Keyed<Bid, Silent>) {
        let time = context.time().unwrap_or(i64::MIN);
        let mut counted = context.edit(IdleStates::counted);
        counted.set(Counted::n, counted.value(Counted::n) + 1);
        counted.set(Counted::last, time);
        context.set_timer(Domain::Event, time.wrapping_add(self.gap));
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<Bid, Silent>) {
        let counted = match context.get(IdleStates::counted) {
            Some(counted) => counted,
            None => return,
        };
        if Some(counted.value(Counted::last) + self.gap) == context.time() {
            context.emit(|silent| {
                silent.set(Silent::bidder, context.key().value(Bid::bidder));
                silent.set(Silent::n, counted.value(Counted::n));
            });
            context.clear(IdleStates::counted);
        }
    }
}

module! {
    "tick" => Process(Tick),
    "idle" => Process(Idle),
}

//! Triggers that read no record, as ../c has them: what it costs to ask one is measured with them.

use wasmstream::*;

schema! {
    pub struct Number {
        n: BigInt,
    }
    pub struct Size {
        size: BigInt,
    }
}

states! {
    struct CountedStates {
        seen: Reducing<Number>,
    }
}

function! {
    /// fires at the window's end, and at each record after it
    pub struct AtEnd;
}

impl Trigger for AtEnd {
    type Input = ();
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, _: Row<()>, window: &mut Window<()>) -> Decision {
        if window.last() <= window.watermark() {
            return Decision::Fire;
        }
        window.set_timer(Domain::Event, window.last());
        Decision::Continue
    }

    fn on_event_time(&self, window: &mut Window<()>) -> Decision {
        match window.time() == Some(window.last()) {
            true => Decision::Fire,
            false => Decision::Continue,
        }
    }

    fn on_merge(&self, window: &mut Window<()>) {
        if window.last() > window.watermark() {
            window.set_timer(Domain::Event, window.last());
        }
    }

    fn clear(&self, window: &mut Window<()>) {
        window.delete_timer(Domain::Event, window.last());
    }
}

/// As the built-in trigger count.
pub struct Counted {
    most: i64,
}

impl Function for Counted {
    type Parameters = Size;
    const DOC: &'static str = "fires at every so many records";
    const STATES: &'static [State] = CountedStates::ALL;

    fn open(open: &Open<Size>) -> Counted {
        Counted { most: open.parameters().value(Size::size) }
    }
}

impl Trigger for Counted {
    type Input = ();
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, _: Row<()>, window: &mut Window<()>) -> Decision {
        let mut seen = window.edit(CountedStates::seen);
        let n = seen.value(Number::n) + 1;
        seen.set(Number::n, n);
        if n < self.most {
            return Decision::Continue;
        }
        window.clear(CountedStates::seen);
        Decision::Fire
    }

    fn on_merge(&self, window: &mut Window<()>) {
        let seen = |i| window.merged_state(i, CountedStates::seen).map_or(0, |seen| seen.value(Number::n));
        let sum: i64 = (0..window.merged()).map(seen).sum();
        if sum > 0 {
            window.edit(CountedStates::seen).set(Number::n, sum);
        }
    }

    fn clear(&self, window: &mut Window<()>) {
        window.clear(CountedStates::seen);
    }
}

module! {
    "at-end" => Trigger(AtEnd),
    "counted" => Trigger(Counted),
}

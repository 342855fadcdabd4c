//! Fires early, at the end of the window, and for each record that is late.

use wasmstream::*;

schema! {
    pub struct Parameters {
        /// milliseconds
        early: BigInt = 10000,
    }
    /// When it fires early; no value where nothing is new.
    pub struct Next {
        due: BigInt,
    }
}

states! {
    struct States {
        early: Value<Next>,
    }
}

pub struct EarlyLate {
    /// How long results wait, in milliseconds of processing time.
    early: i64,
}

impl Function for EarlyLate {
    type Parameters = Parameters;
    const DOC: &'static str =
        "fires early, now and then while records come, at the end of the window, and for each record that is late";
    const STATES: &'static [State] = States::ALL;

    fn open(open: &Open<Parameters>) -> EarlyLate {
        EarlyLate { early: open.parameters().value(Parameters::early) }
    }
}

fn due(window: &Window<()>) -> Option<i64> {
    window.get(States::early).map(|next| next.value(Next::due))
}

fn set_due(window: &mut Window<()>, due: i64) {
    window.edit(States::early).set(Next::due, due);
    window.set_timer(Domain::Processing, due);
}

/// Deletes the timer of the next early firing.
fn forget(window: &mut Window<()>) {
    if let Some(due) = due(window) {
        window.delete_timer(Domain::Processing, due);
        window.clear(States::early);
    }
}

impl Trigger for EarlyLate {
    type Input = ();
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, _: Row<()>, window: &mut Window<()>) -> Decision {
        if window.last() <= window.watermark() {
            return Decision::Fire; // late
        }
        window.set_timer(Domain::Event, window.last());
        if due(window).is_none() {
            let due = window.clock() + self.early;
            set_due(window, due);
        }
        Decision::Continue
    }

    fn on_event_time(&self, window: &mut Window<()>) -> Decision {
        if window.time() != Some(window.last()) {
            return Decision::Continue;
        }
        forget(window);
        Decision::Fire
    }

    fn on_processing_time(&self, window: &mut Window<()>) -> Decision {
        if due(window) != window.time() {
            return Decision::Continue;
        }
        window.clear(States::early);
        Decision::Fire
    }

    fn on_merge(&self, window: &mut Window<()>) {
        let merged = |i| window.merged_state(i, States::early).map(|next| next.value(Next::due));
        if let Some(due) = (0..window.merged()).filter_map(merged).min() {
            set_due(window, due);
        }
        if window.last() > window.watermark() {
            window.set_timer(Domain::Event, window.last());
        }
    }

    fn clear(&self, window: &mut Window<()>) {
        forget(window);
        window.delete_timer(Domain::Event, window.last());
    }
}

module! {
    "early-late" => Trigger(EarlyLate),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

//! Lets each event through once: its state is forgotten after a day.

use wasmstream::*;

schema! {
    pub struct Event {
        id: String,
        payload: String,
    }
    pub struct Before {
        seen: Boolean,
    }
}

states! {
    struct States {
        /// Its life begins when it is written, and is not prolonged.
        seen: Value<Before> { ttl: "1d" },
    }
}

function! {
    /// each event once: what was seen within a day is left out
    pub struct FirstSeen: states(States);
}

impl Process for FirstSeen {
    type Key = ();
    type Input = Event;
    type Output = Event;

    fn on_record(&self, event: Row<Event>, context: &mut Keyed<(), Event>) {
        if context.get(States::seen).is_none() {
            context.edit(States::seen).set(Before::seen, true);
            context.emit_row(event);
        }
    }
}

module! {
    "first-seen" => Process(FirstSeen),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

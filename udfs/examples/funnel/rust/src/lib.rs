//! Tells how far visitors come: view, cart, payment, in this order and within an hour of the view.

use wasmstream::*;

schema! {
    pub struct Click {
        step: String,
    }
    pub struct Person {
        visitor: String,
    }
    pub struct Progress {
        reached: BigInt,
        began: Timestamp,
    }
    pub struct Reached {
        visitor: String,
        reached: String,
        after: BigInt,
    }
}

states! {
    struct States {
        progress: Value<Progress>,
    }
}

const STEPS: [&str; 3] = ["view", "cart", "payment"];
const PATIENCE: i64 = 3_600_000; // milliseconds

function! {
    /// how far visitors come: view, cart, payment, in this order and within an hour of the view
    pub struct Funnel: states(States);
}

impl Process for Funnel {
    type Key = Person;
    type Input = Click;
    type Output = Reached;

    fn on_record(&self, click: Row<Click>, context: &mut Keyed<Person, Reached>) {
        let time = context.time().unwrap_or_else(|| fail("a click without a time"));
        let progress = context.get(States::progress);
        let done = progress.map_or(0, |progress| progress.value(Progress::reached)) as usize;
        let began = progress.map_or(time, |progress| progress.value(Progress::began));
        if click.value(Click::step) != STEPS[done] {
            return;
        }
        if done == 0 {
            context.set_timer(Domain::Event, began + PATIENCE);
        }
        context.emit(|out| {
            out.set(Reached::visitor, context.key().value(Person::visitor));
            out.set(Reached::reached, STEPS[done]);
            out.set(Reached::after, time - began);
        });
        if done + 1 == STEPS.len() {
            context.delete_timer(Domain::Event, began + PATIENCE);
            context.clear(States::progress);
            return;
        }
        let mut progress = context.edit(States::progress);
        progress.set(Progress::reached, done as i64 + 1);
        progress.set(Progress::began, began);
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<Person, Reached>) {
        context.clear(States::progress);
    }
}

module! {
    "funnel" => Process(Funnel),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

//! Three failed logins, then one that succeeds, within ten minutes.

use wasmstream::*;

schema! {
    pub struct Login {
        ok: Boolean,
    }
    pub struct Person {
        user: String,
    }
    /// How many failures there were, and when the first.
    pub struct Failures {
        n: BigInt,
        since: Timestamp,
    }
    pub struct Alert {
        user: String,
        failures: BigInt,
        since: Timestamp,
    }
}

states! {
    struct States {
        failures: Value<Failures>,
    }
}

const ENOUGH: i64 = 3;
const PATIENCE: i64 = 600_000; // milliseconds

function! {
    /// three failed logins, then one that succeeds, within ten minutes
    pub struct Fraud: states(States);
}

impl Fraud {
    fn on_failure(context: &mut Keyed<Person, Alert>, since: Option<i64>, n: i64) {
        let time = context.time().unwrap_or_else(|| fail("a login without a time"));
        if since.is_none() {
            context.set_timer(Domain::Event, time + PATIENCE);
        }
        let mut failures = context.edit(States::failures);
        failures.set(Failures::n, n + 1);
        failures.set(Failures::since, since.unwrap_or(time));
    }

    fn on_success(context: &mut Keyed<Person, Alert>, since: i64, n: i64) {
        if n >= ENOUGH {
            context.emit(|alert| {
                alert.set(Alert::user, context.key().value(Person::user));
                alert.set(Alert::failures, n);
                alert.set(Alert::since, since);
            });
        }
        context.delete_timer(Domain::Event, since + PATIENCE);
        context.clear(States::failures);
    }
}

impl Process for Fraud {
    type Key = Person;
    type Input = Login;
    type Output = Alert;

    fn on_record(&self, login: Row<Login>, context: &mut Keyed<Person, Alert>) {
        let failures = context.get(States::failures);
        let since = failures.and_then(|failures| failures.get(Failures::since));
        let n = failures.map_or(0, |failures| failures.value(Failures::n));
        match (login.value(Login::ok), since) {
            (false, since) => Fraud::on_failure(context, since, n),
            (true, Some(since)) => Fraud::on_success(context, since, n),
            (true, None) => {}
        }
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<Person, Alert>) {
        context.clear(States::failures);
    }
}

module! {
    "fraud" => Process(Fraud),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

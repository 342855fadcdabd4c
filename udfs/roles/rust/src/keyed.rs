//! Functions of keyed records, and of pairs of them.

use crate::{Number, Pair as Amounts, Payment, Person};
use wasmstream::*;

schema! {
    pub struct Idling {
        n: BigInt,
        due: Timestamp,
    }
    pub struct Idled {
        user: String,
        n: BigInt,
    }
    pub struct Patience {
        /// milliseconds
        size: BigInt = 1000,
    }
}

states! {
    struct IdleStates {
        idling: Value<Idling>,
    }
}

states! {
    struct JoinedStates {
        users: Value<Person>,
    }
}

states! {
    struct LatestStates {
        other: Value<Number>,
    }
}

function! {
    /// all users in one string
    pub struct Joined: states(JoinedStates);
    /// each payment with the last amount of the second input
    pub struct Latest: states(LatestStates);
    /// both amounts
    pub struct Matched;
}

pub struct Idle {
    patience: i64,
}

impl Function for Idle {
    type Parameters = Patience;
    const DOC: &'static str = "how many payments there were when there is none for a while";
    const STATES: &'static [State] = IdleStates::ALL;

    fn open(open: &Open<Patience>) -> Idle {
        Idle { patience: open.parameters().value(Patience::size) }
    }
}

/// A negative amount forgets the user.
impl Process for Idle {
    type Key = Person;
    type Input = Payment;
    type Output = Idled;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<Person, Idled>) {
        let due = context.time().unwrap_or(i64::MIN).wrapping_add(self.patience);
        if let Some(before) = context.get(IdleStates::idling) {
            context.delete_timer(Domain::Event, before.value(Idling::due));
        }
        if payment.value(Payment::amount) < 0 {
            context.clear(IdleStates::idling);
            return;
        }
        let mut idling = context.edit(IdleStates::idling);
        let n = idling.value(Idling::n);
        idling.set(Idling::n, n + 1);
        idling.set(Idling::due, due);
        context.set_timer(Domain::Event, due);
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<Person, Idled>) {
        if let Some(idling) = context.get(IdleStates::idling) {
            context.emit(|out| {
                out.set(Idled::user, context.key().value(Person::user));
                out.set(Idled::n, idling.value(Idling::n));
            });
            context.clear(IdleStates::idling);
        }
    }
}

/// A timer of processing time tells the string.
impl Process for Joined {
    type Key = ();
    type Input = Payment;
    type Output = Person;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Person>) {
        let user = payment.value(Payment::user);
        let all = match context.get(JoinedStates::users) {
            Some(before) => [before.value(Person::user), ",", user].concat(),
            None => {
                context.set_timer(Domain::Processing, context.clock() + 1000);
                user.to_string()
            }
        };
        context.edit(JoinedStates::users).set(Person::user, &all);
    }

    fn on_timer(&self, _: Domain, context: &mut Keyed<(), Person>) {
        if let Some(users) = context.get(JoinedStates::users) {
            context.emit_row(users);
        }
        context.clear(JoinedStates::users);
    }
}

impl CoProcess for Latest {
    type Key = ();
    type Input = Payment;
    type Second = Payment;
    type Output = Amounts;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Amounts>) {
        let other = context.get(LatestStates::other).map(|other| other.value(Number::n));
        context.emit(|out| {
            out.set(Amounts::amount, payment.value(Payment::amount));
            out.put(Amounts::other, other);
        });
    }

    fn on_second(&self, payment: Row<Payment>, context: &mut Keyed<(), Amounts>) {
        context.edit(LatestStates::other).set(Number::n, payment.value(Payment::amount));
    }
}

impl Join for Matched {
    type Input = Payment;
    type Second = Payment;
    type Output = Amounts;

    fn join(&self, left: Option<Row<Payment>>, right: Option<Row<Payment>>, pair: &Pair<Amounts>) {
        pair.emit(|out| {
            out.put(Amounts::amount, left.map(|payment| payment.value(Payment::amount)));
            out.put(Amounts::other, right.map(|payment| payment.value(Payment::amount)));
        });
    }
}

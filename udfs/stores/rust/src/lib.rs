//! Functions whose states are reached by calls of the host: a map, a list, and broadcast state.

use wasmstream::*;

schema! {
    pub struct Payment {
        user: String,
        amount: BigInt,
    }
    pub struct Number {
        n: BigInt,
    }
    pub struct Person {
        user: String,
    }
    pub struct Told {
        user: String,
        n: BigInt,
    }
    pub struct Rated {
        amount: BigInt,
        other: BigInt,
    }
}

states! {
    struct TallyStates {
        sums: Map<Person, Number>,
        amounts: List<Number>,
    }
}

outputs! {
    struct TallyOutputs {
        amounts: Number,
    }
}

states! {
    struct RateStates {
        count: Value<Number>,
        rates: Map<Person, Number> { scope: "broadcast" },
    }
}

function! {
    /// sums by user and a list of amounts
    pub struct Tally: states(TallyStates), outputs(TallyOutputs);

    /// amounts times a rate that comes by broadcast
    pub struct Rate: states(RateStates);
}

/// An amount of 0 tells all, and one of -1 forgets all.
impl Process for Tally {
    type Key = ();
    type Input = Payment;
    type Output = Told;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Told>) {
        let (sums, amounts) = (context.map(TallyStates::sums), context.list(TallyStates::amounts));
        match payment.value(Payment::amount) {
            0 => {
                for (person, sum) in sums.iter() {
                    context.emit(|out| {
                        out.set(Told::user, person.value(Person::user));
                        out.set(Told::n, sum.value(Number::n));
                    });
                }
                for amount in amounts.iter() {
                    context.emit_row_to(TallyOutputs::amounts, amount);
                }
            }
            amount if amount > 0 => {
                let user = payment.value(Payment::user);
                let sum = sums.get(|key| key.set(Person::user, user)).map_or(0, |sum| sum.value(Number::n));
                sums.put(|key| key.set(Person::user, user), |value| value.set(Number::n, sum + amount));
                amounts.push(|value| value.set(Number::n, amount));
            }
            -1 => {
                sums.clear();
                amounts.clear();
            }
            _ => {}
        }
    }
}

/// A rate of 0 takes the user's rate away and, of every key, the count of its payments.
impl BroadcastProcess for Rate {
    type Key = ();
    type Input = Payment;
    type Second = Payment;
    type Output = Rated;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Rated>) {
        let mut count = context.edit(RateStates::count);
        let payments = count.value(Number::n) + 1;
        count.set(Number::n, payments);
        let rate = context.map(RateStates::rates).get(|key| key.set(Person::user, payment.value(Payment::user)));
        context.emit(|out| {
            out.set(Rated::amount, payments);
            out.put(Rated::other, rate.map(|rate| payment.value(Payment::amount) * rate.value(Number::n)));
        });
    }

    fn on_broadcast(&self, rate: Row<Payment>, context: &mut Broadcast<Rated>) {
        let rates = context.map(RateStates::rates);
        match rate.value(Payment::amount) {
            0 => {
                rates.delete(|key| key.set(Person::user, rate.value(Payment::user)));
                context.visit_keys();
            }
            n => rates.put(|key| key.set(Person::user, rate.value(Payment::user)), |value| value.set(Number::n, n)),
        }
    }

    fn on_key(&self, _: Row<Payment>, key: &mut Visited<()>) {
        key.clear(RateStates::count);
    }
}

module! {
    "tally" => Process(Tally),
    "rated" => BroadcastProcess(Rate),
}

#[test]
fn cases() {
    wasmstream::testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

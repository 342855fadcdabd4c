//! Turns payments into euros, at the rate that was valid at their time.

use wasmstream::*;

schema! {
    pub struct Payment {
        currency: String,
        cents: BigInt,
    }
    pub struct News {
        currency: String,
        since: Timestamp,
        rate: Double,
    }
    pub struct Valid {
        currency: String,
        since: Timestamp,
    }
    pub struct Rate {
        rate: Double,
    }
    pub struct Euros {
        euro_cents: BigInt,
        currency: String,
        cents: BigInt,
    }
}

states! {
    struct States {
        /// All there have been, by currency and by when they began.
        rates: Map<Valid, Rate> { scope: "broadcast" },
    }
}

outputs! {
    struct Outputs {
        unknown: Payment,
    }
}

function! {
    /// payments in euros, at the rate that was valid at their time; rates come by broadcast
    pub struct Currency: states(States), outputs(Outputs);
}

impl BroadcastProcess for Currency {
    type Key = ();
    type Input = Payment;
    type Second = News;
    type Output = Euros;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Euros>) {
        let (currency, cents) = (payment.value(Payment::currency), payment.value(Payment::cents));
        let time = context.time().unwrap_or(i64::MIN);
        // Keys are in the order of their bytes, which is not that of time.
        let rates = context.map(States::rates);
        let valid = rates.iter().filter(|(of, _)| of.value(Valid::currency) == currency && of.value(Valid::since) <= time);
        match valid.max_by_key(|(of, _)| of.value(Valid::since)) {
            None => context.emit_row_to(Outputs::unknown, payment),
            Some((_, rate)) => context.emit(|out| {
                out.set(Euros::euro_cents, (rate.value(Rate::rate) * cents as f64) as i64);
                out.set(Euros::currency, currency);
                out.set(Euros::cents, cents);
            }),
        }
    }

    fn on_broadcast(&self, news: Row<News>, context: &mut Broadcast<Euros>) {
        let key = |key: &mut RowMut<Valid>| {
            key.set(Valid::currency, news.value(News::currency));
            key.set(Valid::since, news.value(News::since));
        };
        match news.get(News::rate) {
            None => context.map(States::rates).delete(key),
            Some(rate) => context.map(States::rates).put(key, |value| value.set(Rate::rate, rate)),
        }
    }
}

module! {
    "currency" => BroadcastProcess(Currency),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

//! Finds values that are far from a moving mean, weighted exponentially.

use wasmstream::*;

schema! {
    pub struct Measurement {
        value: Double,
    }
    pub struct Sensor {
        sensor: String,
    }
    pub struct Moving {
        n: BigInt,
        mean: Double,
        variance: Double,
    }
    pub struct Odd {
        sensor: String,
        value: Double,
        mean: Double,
    }
    pub struct Parameters {
        /// of a new value in the mean
        share: Double = 0.1,
        deviations: Double = 4,
    }
}

states! {
    struct States {
        moving: Value<Moving>,
    }
}

/// How many values there must have been.
const ENOUGH: i64 = 3;

pub struct Anomaly {
    /// The weight of a new value, and the square of how many deviations are far.
    share: f64,
    limit: f64,
}

impl Function for Anomaly {
    type Parameters = Parameters;
    const DOC: &'static str = "values that are far from what there was before: more than so many deviations from a moving mean";
    const STATES: &'static [State] = States::ALL;

    fn open(open: &Open<Parameters>) -> Anomaly {
        let deviations = open.parameters().value(Parameters::deviations);
        Anomaly { share: open.parameters().value(Parameters::share), limit: deviations * deviations }
    }
}

impl Process for Anomaly {
    type Key = Sensor;
    type Input = Measurement;
    type Output = Odd;

    fn on_record(&self, record: Row<Measurement>, context: &mut Keyed<Sensor, Odd>) {
        let value = match record.get(Measurement::value) {
            Some(value) => value,
            None => return,
        };
        let before = context.get(States::moving);
        let n = before.map_or(0, |moving| moving.value(Moving::n)) + 1;
        let mean = before.map_or(value, |moving| moving.value(Moving::mean));
        let variance = before.map_or(0.0, |moving| moving.value(Moving::variance));
        let difference = value - mean;
        if n > ENOUGH && difference * difference > self.limit * variance {
            context.emit(|odd| {
                odd.set(Odd::sensor, context.key().value(Sensor::sensor));
                odd.set(Odd::value, value);
                odd.set(Odd::mean, mean);
            });
        }
        let mut moving = context.edit(States::moving);
        moving.set(Moving::n, n);
        moving.set(Moving::mean, mean + self.share * difference);
        moving.set(Moving::variance, (1.0 - self.share) * (variance + self.share * (difference * difference)));
    }
}

module! {
    "anomaly" => Process(Anomaly),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}

//! Tests of functions without Wasm: through the entries that a host calls, but natively, so that `cargo test` and a debugger
//! are all it takes.
//!
//! What a function must do is told in cases, the same for all languages; udfs/README.md of the repository describes each line. A case
//! is played as one frame and again with a frame for each op, since a function must not notice the difference.
//!
//! ```
//! # use wasmstream::*;
//! # schema! { pub struct Flight { delay: Int } }
//! # function! { pub struct Late; }
//! # impl Filter for Late {
//! #     type Input = Flight;
//! #     fn keep(&self, flight: Row<Flight>, _: &Moment) -> bool { flight.value(Flight::delay) > 0 }
//! # }
//! # module! { "late" => Filter(Late) }
//! # fn main() {
//! wasmstream::testing::run(FUNCTIONS, r#"
//! function late
//!
//! case on time is not late
//! on-record {"delay": 0}
//! on-record {"delay": 1}
//! => keep
//! "#);
//! # }
//! ```

mod case;
mod json;
mod play;
mod rows;

pub use crate::native::logged;

use crate::guest::{Entry, Guest};

/// Plays cases: `run(FUNCTIONS, include_str!("../cases.txt"))`. It panics with all that is not as the cases say, which is
/// how a test fails.
pub fn run(functions: &'static [Entry], cases: &str) {
    let manifest = json::parse(&manifest(functions)).expect("the manifest is JSON");
    let known = case::Function::all(&manifest);
    let cases = case::read(cases, &known).unwrap_or_else(|e| panic!("the cases: {e}"));
    let mut wrong = Vec::new();
    for case in &cases {
        for most in [usize::MAX, 1] {
            for problem in play::play(functions, &known[case.function], case, most) {
                let problem = format!("{}: case {}: {problem}", known[case.function].name, case.name);
                // Most are found both ways.
                if !wrong.contains(&problem) {
                    wrong.push(problem);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!cases.is_empty(), "there are no cases");
}

/// The manifest as protobuf JSON.
pub fn manifest(functions: &'static [Entry]) -> String {
    Guest::new(functions).describe().to_string()
}

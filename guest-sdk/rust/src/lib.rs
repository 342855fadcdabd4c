//! Functions for wasmstream in Rust.
//!
//! A function is a type that implements [`Function`] and the trait of its role; [`module!`] exports them. Rows are views with
//! typed columns, made by [`schema!`]; states are handles, made by [`states!`]. Natively the same code runs under `cargo test`,
//! with [`testing`] in place of the host. README.md has a module with a function of each role.
#![warn(missing_docs)]
#![cfg_attr(test, allow(missing_docs))]

#[cfg(test)]
extern crate self as wasmstream;

#[cfg(target_endian = "big")]
compile_error!("rows are little-endian");

mod arena;
mod context;
mod describe;
mod effects;
mod entries;
mod frame;
mod function;
#[doc(hidden)]
pub mod guest;
mod host;
#[cfg(all(target_arch = "wasm32", feature = "allocator"))]
mod memory;
#[cfg(not(target_arch = "wasm32"))]
mod native;
mod op;
mod open;
#[allow(dead_code)]
mod raw;
mod row;
#[doc(hidden)]
pub mod schema;
mod slots;
#[doc(hidden)]
pub mod state;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod types;

pub use context::*;
pub use entries::{Entries, Items};
pub use function::*;
pub use host::{fail, log, Level};
pub use open::{Columns, Open};
pub use row::{Row, RowMut};
pub use schema::{Any, Column, Schema};
pub use state::{NamedOutput, Output, State};

/// Exports functions: a name that jobs call it by, its role, its type.
///
/// ```
/// # use wasmstream::*;
/// # schema! { pub struct Flight { delay: Int } }
/// # struct Late;
/// # impl Function for Late {
/// #     type Parameters = ();
/// #     fn open(_: &Open<()>) -> Late { Late }
/// # }
/// # impl Filter for Late {
/// #     type Input = Flight;
/// #     fn keep(&self, flight: Row<Flight>, _: &Moment) -> bool { flight.value(Flight::delay) > 0 }
/// # }
/// wasmstream::module! {
///     "late" => Filter(Late),
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! module {
    ($($name:literal => $role:ident($function:ty)),* $(,)?) => {
        /// The module's functions.
        pub static FUNCTIONS: &[$crate::guest::Entry] = &[
            $($crate::guest::entry::<$crate::roles::$role, $function>($name)),*
        ];
        $crate::exports!(FUNCTIONS);
    };
}

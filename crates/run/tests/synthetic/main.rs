//! Saved runs that are made up, as `zc-testkit` makes them, and documentation that is made from the
//! registries. (They are no unit tests because the kit is built on this crate.)

mod documents;
mod factors;
mod links;
mod profile;
mod round_trip;

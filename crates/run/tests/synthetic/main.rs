//! Saved runs that are made up, as `zc-testkit` makes them. (They are no unit tests because the kit
//! is built on this crate.)

mod factors;
mod links;
mod profile;
mod round_trip;

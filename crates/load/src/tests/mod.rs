//! Loads against servers of this process: what they answer, how they fail, and what is said of it.

mod hostile;
mod kinds;
mod loads;
mod server;
mod tls;

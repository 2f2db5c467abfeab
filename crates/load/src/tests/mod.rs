//! Loads against servers of this process: what they answer, how they fail, and what is said of it.

mod hostile;
mod loads;
mod server;
mod tls;

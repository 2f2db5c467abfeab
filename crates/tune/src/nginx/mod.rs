//! Configurations of nginx.

//! Measurements on many hosts: which pairs measure what, as jobs for a scheduler, and what has come
//! of them.
//!
//! Data passes through once: a file of the user's ([`fleet_file`]) becomes a plan ([`plan`]: hosts,
//! [`pairs`], cells, their order), which is written into a folder ([`folder`]) with the jobs of an
//! engine ([`slurm`], [`ssh`], [`kubernetes`]). From then on the folder is all there is: what is
//! done is what lies there, and what runs is what the scheduler says.

mod attempts;
pub mod files;
pub mod fleet_file;
pub mod folder;
mod host_list;
pub mod kubernetes;
mod kubernetes_options;
mod lock;
mod new_folder;
mod one_line;
pub mod pairs;
pub mod plan;
mod programs;
mod shell;
pub mod slurm;
pub mod ssh;
pub mod state;

pub use attempts::Attempt;
pub use fleet_file::FleetFile;
pub use folder::Folder;
pub use kubernetes_options::KubernetesOptions;
pub use lock::Lock;
pub use plan::{Cell, FleetPlan};
pub use programs::{NamedBy, Programs};
pub use state::{CellState, Count};

//! The toolbox: registry, desk, servers, selection and approvals, put together over the store.

mod analysis;
mod approval;
mod keeper;
mod ledger;

pub use analysis::{AnalysisRules, Grounds};
pub use approval::{Approvals, Waiting};
pub use keeper::ArtifactKeeper;
pub use ledger::StoreLedger;

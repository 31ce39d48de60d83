//! A app in a folder, for programs that measure it or let it die: the real store, the real
//! toolbox, no model.

use std::path::Path;
use std::sync::Arc;
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_language::Encoder;
use steward_runtime::ask::AppContext;
use steward_runtime::toolbox::{AnalysisRules, Options, Toolbox};
use steward_store::{Store, StoreOptions};

pub(crate) fn store_options(home: &Path) -> StoreOptions {
    let signer = keys::load_or_create(&home.join("keys/journal.key"), &SystemRandom).expect("a key");
    StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(signer),
    }
}

/// The toolbox of a home over a store.
pub(crate) async fn toolbox(home: &Path, store: Arc<dyn Store>) -> Toolbox {
    let app = AppContext {
        store,
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        artifacts: home.join("artifacts"),
        encoder: Arc::new(Encoder::default()),
        model: None,
        samples_to_model: false,
        model_name: steward_domain::Label::new("model").expect("a label"),
        ledger: Default::default(),
        options: steward_analysis::session::Options::default(),
    };
    let options = Options {
        home: home.to_owned(),
        environment: steward_domain::Environment::Production,
        roots: Vec::new(),
        rules: AnalysisRules::default(),
        launcher: None,
        watch: false,
        grants: Arc::new(Everybody),
    };
    Toolbox::open(&app, options).await.expect("a toolbox")
}

/// The person who runs an example owns it.
struct Everybody;

impl steward_runtime::Grants for Everybody {
    fn of(
        &self,
        user: &steward_domain::UserId,
        _: &steward_tools::registry::Registry,
    ) -> Result<steward_policy::Caller, String> {
        Ok(steward_policy::Caller::owner(user.clone()))
    }
}

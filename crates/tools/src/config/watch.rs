//! Hot reload: the folder is watched. A valid change takes effect; an invalid one is reported and
//! ignored.
//!
//! Invariants
//! - There is always a configuration in effect: the last valid one.
//! - Listeners are called sequentially, in the order of generations, before [`Watcher::reload`]
//!   returns.
//! - Nothing keeps running when the [`Watcher`] is dropped.

use super::problem::{Problem, Problems};
use super::{Configuration, Source};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Editors write in several steps, so the folder must be idle for this long before it is read.
const QUIET: Duration = Duration::from_millis(40);
/// The maximum number of such waits, so that a busy folder is read as well.
const ROUNDS: usize = 25;

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new configuration took effect.
    Applied {
        /// The generation, from 1.
        generation: u64,
        /// The new configuration.
        configuration: Arc<Configuration>,
    },
    /// The files are invalid. The previous configuration stays in effect.
    Refused {
        /// The generation that stays in effect.
        generation: u64,
        /// The problems.
        problems: Problems,
    },
}

/// Reloads a configuration when its files change, until it is dropped.
pub struct Watcher {
    live: Arc<Live>,
    // Both end with the handle: dropping the set aborts the task, dropping the watcher closes the
    // kernel's queue.
    _tasks: JoinSet<()>,
}

/// Called on every change.
type Listener = Box<dyn Fn(&Change) + Send + Sync>;

struct Live {
    source: Source,
    listener: Listener,
    current: RwLock<(u64, Arc<Configuration>)>,
    /// Locked while files are read and listeners called, so that changes are sequential.
    turn: Mutex<()>,
    told: watch::Sender<Option<Change>>,
}

impl Watcher {
    /// Loads the configuration, calls the listener, and starts watching. It must be called inside a
    /// Tokio runtime.
    pub fn start(
        source: Source,
        listener: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Result<Self, Problems> {
        let (events, heard) = mpsc::channel(64);
        // Watching starts before loading, so that a change in between is not missed.
        let eye = watching(&source, events)?;
        let configuration = Arc::new(source.load()?);
        let told = watch::Sender::new(None);
        let listener: Listener = Box::new(listener);
        let current = RwLock::new((1, configuration.clone()));
        let live = Arc::new(Live { source, listener, current, turn: Mutex::default(), told });
        live.tell(Change::Applied { generation: 1, configuration });
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(live.clone(), eye, heard));
        Ok(Self { live, _tasks: tasks })
    }

    /// The configuration in effect.
    #[must_use]
    pub fn current(&self) -> Arc<Configuration> {
        self.live.current().1
    }

    /// The generation in effect, from 1.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.live.current().0
    }

    /// Reloads the files now. The listener was called when this returns. Returns the generation in
    /// effect.
    pub fn reload(&self) -> Result<u64, Problems> {
        self.live.reload()
    }

    /// The last change, and a receiver for the next.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Option<Change>> {
        self.live.told.subscribe()
    }
}

impl Live {
    fn current(&self) -> (u64, Arc<Configuration>) {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reload(&self) -> Result<u64, Problems> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (generation, before) = self.current();
        match self.source.load() {
            // The files are valid again and unchanged. Listeners must learn that the reported
            // problems are gone.
            Ok(after) if after == *before => {
                let refused = matches!(&*self.told.borrow(), Some(Change::Refused { .. }));
                if refused {
                    self.tell(Change::Applied { generation, configuration: before });
                }
                Ok(generation)
            }
            Ok(after) => {
                let (generation, configuration) = (generation + 1, Arc::new(after));
                *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                    (generation, configuration.clone());
                self.tell(Change::Applied { generation, configuration });
                Ok(generation)
            }
            Err(problems) => {
                self.tell(Change::Refused { generation, problems: problems.clone() });
                Err(problems)
            }
        }
    }

    fn tell(&self, change: Change) {
        (self.listener)(&change);
        self.told.send_replace(Some(change));
    }
}

/// Reloads the files when the folder has changed and is idle.
async fn follow(live: Arc<Live>, mut eye: RecommendedWatcher, mut heard: mpsc::Receiver<()>) {
    while heard.recv().await.is_some() {
        for _ in 0..ROUNDS {
            if timeout(QUIET, heard.recv()).await.is_err() {
                break;
            }
        }
        // The folder may have been created, removed or replaced. A watch on the old one reports
        // nothing any more.
        let _ = eye.unwatch(&live.source.config_folder());
        let _ = look(&mut eye, &live.source);
        let live = live.clone();
        let mut reading = JoinSet::new();
        reading.spawn_blocking(move || live.reload().is_ok());
        reading.join_next().await;
    }
}

/// Watches the folder `config`, or the home while there is none. The home is not watched longer,
/// because it contains the database and each write would be an event.
fn look(eye: &mut RecommendedWatcher, source: &Source) -> notify::Result<()> {
    eye.watch(&source.folder, RecursiveMode::NonRecursive)?;
    let folder = source.config_folder();
    if folder.is_dir() && eye.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
        let _ = eye.unwatch(&source.folder);
    }
    Ok(())
}

/// Creates a watcher that signals changes of the files.
fn watching(source: &Source, events: mpsc::Sender<()>) -> Result<RecommendedWatcher, Problems> {
    let folder = source.config_folder();
    let inside = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let watched = folder;
    let on_event = move |event: notify::Result<notify::Event>| {
        // Read access is ignored. An error means that events may have been lost.
        let matters = event.is_err()
            || event.is_ok_and(|event| {
                let ours = |path: &PathBuf| path.starts_with(&watched) || path.starts_with(&inside);
                !matches!(event.kind, EventKind::Access(_))
                    && (event.paths.is_empty() || event.paths.iter().any(ours))
            });
        if matters {
            // A full channel means that a reload is pending anyway.
            let _ = events.try_send(());
        }
    };
    let eye = notify::recommended_watcher(on_event).and_then(|mut eye| {
        look(&mut eye, source)?;
        Ok(eye)
    });
    eye.map_err(|error| {
        let problem =
            format!("changes of this folder cannot be watched: {error}. Look at the limits of inotify");
        Problem { file: source.folder.clone(), line: 1, problem }.into()
    })
}

//! Hot reload: the folder is watched, a change that is right comes into force, one that is not is
//! told and changes nothing.
//!
//! Invariants
//! - There is always a configuration in force: the last one that was right.
//! - Listeners hear of changes one after the other, in the order of their generations, before
//!   [`Watcher::reload`] returns.
//! - Nothing is left running when the [`Watcher`] is dropped.

use super::problem::{Problem, Problems};
use super::{Configuration, Source};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Editors write in several steps: this long must nothing happen before the files are read.
const QUIET: Duration = Duration::from_millis(40);
/// But a folder that is never quiet is read all the same.
const ROUNDS: usize = 25;

/// What came of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new configuration is in force.
    Applied {
        /// Which one it is, from 1.
        generation: u64,
        /// What is in force now.
        configuration: Arc<Configuration>,
    },
    /// The files are wrong; what was in force still is.
    Refused {
        /// Which one is still in force.
        generation: u64,
        /// What is wrong.
        problems: Problems,
    },
}

/// Keeps a configuration in step with its files until it is dropped.
pub struct Watcher {
    live: Arc<Live>,
    // Both end with the handle: dropping the set aborts the task, dropping the eye closes the
    // kernel's queue.
    _tasks: JoinSet<()>,
}

/// Hears of every change.
type Listener = Box<dyn Fn(&Change) + Send + Sync>;

struct Live {
    source: Source,
    listener: Listener,
    current: RwLock<(u64, Arc<Configuration>)>,
    /// Held while files are read and listeners told, so that changes come one after the other.
    turn: Mutex<()>,
    told: watch::Sender<Option<Change>>,
}

impl Watcher {
    /// Reads the configuration, tells the listener, and watches from then on. Must be called inside
    /// a Tokio runtime.
    pub fn start(
        source: Source,
        listener: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Result<Self, Problems> {
        let (events, heard) = mpsc::channel(64);
        // Watching begins before reading: a change in between is seen twice rather than never.
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

    /// What is in force.
    #[must_use]
    pub fn current(&self) -> Arc<Configuration> {
        self.live.current().1
    }

    /// Which configuration is in force, from 1.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.live.current().0
    }

    /// Reads the files now. The listener has been told when this returns; the generation in force
    /// is given back.
    pub fn reload(&self) -> Result<u64, Problems> {
        self.live.reload()
    }

    /// The last thing that happened, and a way to wait for the next.
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
            // Refused before and right again as it was: whoever showed the problems must hear that
            // they are gone.
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

/// Reads the files again whenever the folder was touched and has come to rest.
async fn follow(live: Arc<Live>, mut eye: RecommendedWatcher, mut heard: mpsc::Receiver<()>) {
    while heard.recv().await.is_some() {
        for _ in 0..ROUNDS {
            if timeout(QUIET, heard.recv()).await.is_err() {
                break;
            }
        }
        // The folder may have come, gone or been exchanged: an eye on the old one sees nothing any
        // more.
        let _ = eye.unwatch(&live.source.config_folder());
        let _ = look(&mut eye, &live.source);
        let live = live.clone();
        let mut reading = JoinSet::new();
        reading.spawn_blocking(move || live.reload().is_ok());
        reading.join_next().await;
    }
}

/// Looks at the folder `config`, or at the home while there is none. Never at both: the home is
/// where the database lies, and each page that is written to it would be an event.
fn look(eye: &mut RecommendedWatcher, source: &Source) -> notify::Result<()> {
    eye.watch(&source.folder, RecursiveMode::NonRecursive)?;
    let folder = source.config_folder();
    if folder.is_dir() && eye.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
        let _ = eye.unwatch(&source.folder);
    }
    Ok(())
}

/// An eye that says when something happened to the files.
fn watching(source: &Source, events: mpsc::Sender<()>) -> Result<RecommendedWatcher, Problems> {
    let folder = source.config_folder();
    let inside = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let watched = folder;
    let on_event = move |event: notify::Result<notify::Event>| {
        // Reading the files is an event as well; only writing counts. An error means that something
        // may have been missed.
        let matters = event.is_err()
            || event.is_ok_and(|event| {
                let ours = |path: &PathBuf| path.starts_with(&watched) || path.starts_with(&inside);
                !matches!(event.kind, EventKind::Access(_))
                    && (event.paths.is_empty() || event.paths.iter().any(ours))
            });
        if matters {
            // A full channel means that a reading is due anyway.
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

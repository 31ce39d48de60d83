//! Saved items of users: verified answers, feedback, schedules, alerts, deliveries, boards. All
//! kinds are stored in the same way.

use crate::{
    Alert, Board, Check, Delivery, Feedback, Problem, Schedule, Signal, Timestamp, UserId, VerifiedAnswer,
    VerifiedResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! saved {
    ($($(#[$doc:meta])* $name:ident = $text:literal, shared $shared:expr, due $due:expr;)*) => {
        /// A saved item of a user.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum SavedItem { $($(#[$doc])* $name($name),)* }

        /// The kinds of saved items.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum SavedKind { $($(#[$doc])* $name,)* }

        impl SavedKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The kind as it is written in JSON and SQL.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }

        impl SavedItem {
            /// Its kind.
            #[must_use]
            pub fn kind(&self) -> SavedKind {
                match self { $(Self::$name(_) => SavedKind::$name),* }
            }

            /// Its id, unique in its kind.
            #[must_use]
            pub fn id(&self) -> Uuid {
                match self { $(Self::$name(one) => one.id.0),* }
            }

            /// The owner.
            #[must_use]
            pub fn user_id(&self) -> &UserId {
                match self { $(Self::$name(one) => &one.user_id),* }
            }

            /// When it was made.
            #[must_use]
            pub fn created_at(&self) -> Timestamp {
                match self { $(Self::$name(one) => one.created_at),* }
            }

            /// When it was last changed.
            #[must_use]
            pub fn updated_at(&self) -> Timestamp {
                match self { $(Self::$name(one) => one.updated_at),* }
            }

            /// Whether all users may see it.
            #[must_use]
            pub fn is_shared(&self) -> bool {
                match self { $(Self::$name(one) => { let shared: fn(&$name) -> bool = $shared; shared(one) })* }
            }

            /// When it is due for processing.
            #[must_use]
            pub fn due_at(&self) -> Option<Timestamp> {
                match self { $(Self::$name(one) => { let due: fn(&$name) -> Option<Timestamp> = $due; due(one) })* }
            }
        }

        impl Check for SavedItem {
            const ENTITY: &'static str = "SavedItem";
            fn check(&self, problems: &mut Vec<Problem>) {
                match self { $(Self::$name(one) => one.check(problems)),* }
            }
        }

        $(impl From<$name> for SavedItem {
            fn from(one: $name) -> Self {
                Self::$name(one)
            }
        }

        impl SavedEntity for $name {
            const KIND: SavedKind = SavedKind::$name;
            fn from_item(item: SavedItem) -> Option<Self> {
                match item {
                    SavedItem::$name(one) => Some(one),
                    _ => None,
                }
            }
        })*
    };
}

/// An entity that is kept as a [`SavedItem`].
pub trait SavedEntity: Check + Into<SavedItem> {
    /// Its kind.
    const KIND: SavedKind;

    /// The entity in an item, if it is of this kind.
    fn from_item(item: SavedItem) -> Option<Self>;
}

saved! {
    /// A verified answer.
    VerifiedAnswer = "verified_answer", shared |_| true, due |_| None;
    /// The rows of a verified answer.
    VerifiedResult = "verified_result", shared |_| false, due |_| None;
    /// The rating of an answer.
    Feedback = "feedback", shared |_| false, due |_| None;
    /// A schedule.
    Schedule = "schedule", shared |_| false, due |one| one.next_at;
    /// An alert.
    Alert = "alert", shared |_| false, due |_| None;
    /// A delivery.
    Delivery = "delivery", shared |_| false, due |one| one.next_at;
    /// A signal for a run.
    Signal = "signal", shared |_| false, due |one| one.next_at;
    /// A board.
    Board = "board", shared |one| one.is_shared, due |_| None;
}

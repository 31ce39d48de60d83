//! The suite that every store must pass. Stores that pass it are interchangeable.
//!
//! Each behaviour uses its own users, so that all of them can share one store concurrently.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::cloned_ref_to_slice_refs,
    reason = "samples read better by value"
)]
#![allow(missing_docs, reason = "the names of behaviours say what they are")]

mod approvals;
mod conversations;
mod documents;
mod executions;
pub mod isolation;
mod journal;
mod model_usage;
mod queue;
mod recipes;
mod retention;
pub mod samples;
mod saved;
mod tools;

use crate::Store;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A behaviour: its name, and a check that panics if the store violates it.
pub type Behaviour = (&'static str, fn(Arc<dyn Store>) -> BoxFuture<'static, ()>);

macro_rules! behaviours {
    ($($module:ident::{$($name:ident),* $(,)?})*) => {
        /// Every behaviour.
        pub const ALL: &[Behaviour] = &[$($((
            concat!(stringify!($module), "::", stringify!($name)),
            |store| Box::pin($module::$name(store)),
        )),*),*];
    };
}

behaviours! {
    approvals::{ one_of_many_decisions_counts, an_approval_releases_one_call, a_refused_decision_writes_nothing }
    conversations::{
        window_is_the_last_messages_in_order, concurrent_appends_are_ordered_not_lost, only_archived_conversations_come_back,
        deletion_takes_messages_and_entities, only_active_conversations_take_messages, entities_are_found_by_recency_type_and_name,
        mentions_count_and_keep_the_name, rules_of_messages_hold, every_text_comes_back, conversations_are_listed_newest_first,
    }
    executions::{
        executions_come_back_whole, invocations_are_filtered, analytics_agree_with_hand_counts, records_are_immutable,
    }
    tools::{
        a_name_has_versions, retired_tools_are_gone_but_kept, nearest_tools_are_the_nearest, widths_of_two_models_live_side_by_side,
        users_may_not_write_tools,
    }
    recipes::{ recipes_are_found_by_schema_then_meaning, using_a_recipe_counts }
    documents::{
        tasks_move_and_are_filtered, checkpoints_are_in_order_and_unique, the_papers_of_a_request_come_back,
    }
    journal::{
        entries_and_state_are_one, chains_grow_without_gaps, any_range_of_a_long_chain_is_read, the_log_verifies_and_proves, payloads_erase_and_say_so,
        secrets_never_reach_the_disk, foreign_references_do_no_harm, the_houses_chain_is_the_houses, many_tasks_at_once, a_foreign_chain_is_refused,
        unsynced_commits_are_seen_at_once_and_in_order, an_unsynced_commit_is_refused_like_any_other, many_callers_mix_synced_and_unsynced,
    }
    model_usage::{ usage_is_added_up }
    queue::{
        first_come_first_served, one_user_does_not_hold_up_another, nobody_has_more_than_their_share, delayed_tasks_wait_for_their_time,
        a_lost_lease_writes_nothing, a_task_is_held_from_the_moment_it_exists, a_refused_commit_is_taken_back_alone, cancelling_and_writing_do_not_block_each_other,
        queue_and_entries_are_one, waiting_ends_with_work_or_with_time,
        a_filled_claim_wakes_one_more, no_task_goes_to_two, a_long_queue_is_claimed_quickly,
    }
    retention::{ a_dry_run_changes_nothing, old_things_go_and_it_is_recorded, aggregates_outlive_details }
    saved::{
        shared_items_are_seen_by_all_and_changed_by_their_owner, of_two_changes_of_what_was_read_one_counts,
        what_is_due_is_found_by_its_time, a_tick_is_taken_once,
    }
    isolation::{ no_query_shows_another_users_rows, writes_into_another_users_rows_are_refused }
}

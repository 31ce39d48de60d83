//! Parallel nodes: branches that run in parallel, and how they join.

use super::{Enter, Step};
use crate::program::{NodeWork, ProgramIndex};
use crate::state::{JoinRun, Pending, Thread};
use crate::{Code, Effect, Failure, NodeStatus};
use serde_json::Value;

impl Step<'_> {
    /// Starts every branch.
    pub(super) fn fork(&mut self, parallel: ProgramIndex, branches: &[ProgramIndex]) {
        let mut join = JoinRun::default();
        for branch in branches {
            let name =
                self.program.node(*branch).map_or_else(String::new, |node| node.name.as_str().to_owned());
            let thread = self.new_thread(Thread { joins: Some((parallel, name)), at: *branch, last: None });
            join.open.insert(thread);
            self.todo.push_back(Enter { node: *branch, thread, from: None });
        }
        if let Some(run) = self.state.nodes.get_mut(parallel as usize) {
            run.join = Some(join);
        }
    }

    pub(super) fn branch_done(
        &mut self,
        parallel: ProgramIndex,
        thread: u32,
        branch: String,
        output: Value,
        untrusted: bool,
    ) {
        if let Some(join) = self.join(parallel) {
            join.open.remove(&thread);
            join.done += 1;
            join.untrusted |= untrusted;
            join.results.insert(branch, output);
        }
        self.look(parallel);
    }

    pub(super) fn branch_failed(&mut self, parallel: ProgramIndex, thread: u32, failure: Failure) {
        if let Some(join) = self.join(parallel) {
            join.open.remove(&thread);
            join.failed += 1;
            join.first_failure.get_or_insert(failure);
        }
        self.look(parallel);
    }

    fn join(&mut self, parallel: ProgramIndex) -> Option<&mut JoinRun> {
        self.state.nodes.get_mut(parallel as usize).and_then(|run| run.join.as_mut())
    }

    /// Checks whether enough branches succeeded, or too many failed.
    fn look(&mut self, parallel: ProgramIndex) {
        let program = self.program;
        let Some(node) = program.node(parallel) else { return };
        let NodeWork::Parallel { branches, needs, partial } = &node.work else { return };
        let Some(join) = self.join(parallel) else { return };
        let all = branches.len() as u32;
        let (done, failed, open) = (join.done, join.failed, join.open.len() as u32);
        let lenient = *partial && open == 0 && done > 0;
        let enough = done >= *needs || lenient;
        let hopeless = !enough && (if *partial { open == 0 } else { all - failed.min(all) < *needs });
        if enough {
            let results = std::mem::take(&mut join.results);
            let untrusted = join.untrusted;
            self.drop_work(parallel);
            self.node_done(parallel, Some(Value::Object(results.into_iter().collect())), untrusted);
        } else if hopeless {
            let first = join.first_failure.take();
            let why = first.map_or_else(String::new, |failure| format!("; the first said {failure}"));
            let message = format!("{failed} of {all} branches failed, {needs} were needed{why}");
            self.node_failed(parallel, Failure::new(Code::ParallelFailed, message));
        }
    }

    /// Cancels everything pending for a node and, for a parallel node, for its branches. It does
    /// not recurse: branches may hold parallel nodes of their own.
    pub(super) fn drop_work(&mut self, place: ProgramIndex) {
        let mut places = vec![place];
        while let Some(place) = places.pop() {
            self.drop_pending(place);
            let open = self
                .state
                .nodes
                .get_mut(place as usize)
                .and_then(|run| run.join.take())
                .map(|join| join.open);
            for thread in open.unwrap_or_default() {
                let Some(thread) = self.state.threads.remove(&thread) else { continue };
                let now = self.state.now;
                if let Some(run) = self.state.nodes.get_mut(thread.at as usize)
                    && run.status.is_at_work()
                {
                    run.status = NodeStatus::Cancelled;
                    run.ended_at = Some(now);
                }
                places.push(thread.at);
            }
        }
        // A branch that was cancelled before it was entered must not be entered.
        let threads = &self.state.threads;
        self.todo.retain(|enter| threads.contains_key(&enter.thread));
    }

    fn drop_pending(&mut self, place: ProgramIndex) {
        let theirs = |pending: &Pending| self.state.node_of(pending) == Some(place);
        let ids: Vec<_> =
            self.state.pending.iter().filter(|(_, pending)| theirs(pending)).map(|(id, _)| *id).collect();
        for id in ids {
            self.state.pending.remove(&id);
            self.out.push(Effect::Cancel { id });
        }
        let sessions = &mut self.state.sessions;
        for session in sessions.iter_mut().filter(|session| session.node == place && !session.over) {
            session.over = true;
            session.slots.clear();
            session.open = 0;
        }
        self.state.calls.retain(|_, call| match call.owner {
            crate::state::Owner::Node(node) | crate::state::Owner::Item(node, _) => node != place,
            crate::state::Owner::Slot(session, _) | crate::state::Owner::Held(session) => {
                sessions.get(session as usize).is_some_and(|session| session.node != place)
            }
        });
    }
}

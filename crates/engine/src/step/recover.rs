//! Another process takes over: what had not begun is issued again, and so is what may safely be
//! done twice. What may have happened and must not happen twice becomes unknown.

use super::Step;
use crate::state::Pending;
use crate::{Effect, InFlight};
use steward_domain::Idempotency;

impl Step<'_> {
    pub(super) fn recovered(&mut self, in_flight: &[InFlight]) {
        let begun = |id| in_flight.iter().find(|begun| begun.effect == id);
        let mut unknown = Vec::new();
        for (id, pending) in &self.state.pending {
            match pending {
                Pending::Tool { call }
                    if begun(*id).is_some_and(|begun| begun.safety == Idempotency::None) =>
                {
                    unknown.push((*id, *call));
                }
                _ => {
                    let effect = self.effect(*id, pending);
                    self.out.extend(effect);
                }
            }
        }
        for (id, call) in unknown {
            // An earlier one of these may have failed the node and called this one off.
            if self.state.pending.remove(&id).is_some() {
                self.out.push(Effect::Cancel { id });
                self.unknown(call);
            }
        }
    }
}

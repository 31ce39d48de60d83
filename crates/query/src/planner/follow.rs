//! Follow-up questions: "and Texas?", "only those over 30", "how many are there?", "sort them by
//! age".
//!
//! The invariant: what a follow-up does not mention stays as it was in the question before.

use crate::query::{Aggregate, Compare, Condition, Expr, Literal};

use super::build::{build, has_aggregate};
use super::lexicon::Key;
use super::link::Mark;
use super::nested::negate;
use super::reader::Reader;
use super::sketch::{Sketch, Target};
use steward_text::tokens::Token;

/// How a question leans on the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lean {
    /// It stands alone.
    Alone,
    /// "those", "their": the same things, looked at further.
    Same,
    /// "which of them", "only those": the same answer with fewer rows.
    Narrow,
    /// "what about", "and …?": the same question with something exchanged.
    Instead,
    /// "also show": more of the same.
    Also,
    /// "the others", "except those": the rest.
    Rest,
}

/// Finds out whether a question leans on the one before.
pub(super) fn lean(tokens: &[Token], marks: &[Mark], names_table: bool) -> Lean {
    let word = |place: usize| tokens.get(place).map_or("", |token| token.word.as_str());
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.word.as_str()));
    let about = matches!((word(0), word(1)), ("what" | "how", "about"))
        || matches!((word(0), word(1), word(2)), ("and", "what" | "how", "about"));
    let pronoun = has(&[
        "them",
        "those",
        "these",
        "they",
        "their",
        "theirs",
        "ones",
        "its",
        "his",
        "him",
        "he",
        "she",
        "previous",
        "above-mentioned",
    ]) || has(&["it", "this", "that", "her", "one"]) && refers_back(tokens, marks);
    if has(&["others", "other"]) && !has(&["than"]) || has(&["except", "outside", "excluding"]) && pronoun {
        return Lean::Rest;
    }
    if has(&["also", "too", "additionally"])
        || has(&["well"]) && has(&["as"])
        || word(0) == "include"
        || word(0) == "add"
    {
        return if pronoun || !names_table || word(0) == "also" { Lean::Also } else { Lean::Alone };
    }
    if about || word(0) == "and" || has(&["instead"]) || word(0) == "now" && !names_table {
        return Lean::Instead;
    }
    if pronoun && narrows(tokens) {
        return Lean::Narrow;
    }
    if pronoun {
        return Lean::Same;
    }
    let ordering = marks.iter().any(|mark| matches!(mark.key, Some(Key::OrderBy | Key::Alphabetical)));
    let starts_so = matches!(
        word(0),
        "only" | "just" | "sort" | "order" | "group" | "then" | "filter" | "keep" | "exclude" | "without"
    ) || word(0) == "show" && matches!(word(1), "only" | "just");
    if starts_so && (ordering || !names_table) {
        return Lean::Same;
    }
    let says_filter =
        marks.iter().any(|mark| !mark.values.is_empty() && mark.columns.is_empty() && mark.tables.is_empty());
    if !names_table
        && tokens.len() <= 10
        && !says_filter
        && marks.iter().any(|mark| !mark.columns.is_empty() || matches!(mark.key, Some(Key::HowMany)))
    {
        return Lean::Same;
    }
    Lean::Alone
}

/// Does it pick some of the rows before, without naming what to show?
fn narrows(tokens: &[Token]) -> bool {
    let words: Vec<&str> = tokens
        .iter()
        .map(|token| token.word.as_str())
        .filter(|word| !matches!(*word, "please" | "," | "now" | "just" | "me" | "all"))
        .collect();
    let back = |word: Option<&&str>| {
        word.is_some_and(|word| matches!(*word, "those" | "these" | "them" | "ones" | "one"))
    };
    match words.as_slice() {
        ["which", "of", later @ ..] => back(later.first()),
        ["which", second, ..] => back(Some(second)),
        ["show" | "list" | "give" | "find", "only", third, ..] => back(Some(third)),
        ["show" | "list" | "give" | "find" | "only" | "keep", second, ..] => back(Some(second)),
        ["of" | "among" | "from" | "out", second, rest @ ..] => {
            (back(Some(second)) || rest.first().is_some_and(|word| back(Some(word))))
                && rest.iter().any(|word| matches!(*word, "which" | "who" | "whose"))
        }
        _ => false,
    }
}

/// "it", "this" and "that" point back when no noun of this question stands before them.
fn refers_back(tokens: &[Token], marks: &[Mark]) -> bool {
    let place =
        tokens.iter().position(|token| matches!(token.word.as_str(), "it" | "this" | "that" | "her" | "one"));
    let Some(place) = place else { return false };
    let that = tokens.get(place).is_some_and(|token| token.word == "that");
    let noun_before = marks.iter().any(|mark| {
        mark.from < place && (!mark.tables.is_empty() || !mark.columns.is_empty() && mark.key.is_none())
    });
    let this = tokens.get(place).is_some_and(|token| token.word == "this");
    this || !noun_before && !that || that && tokens.get(place + 1).is_none_or(Token::is_sign)
}

impl Reader<'_> {
    /// Changes the earlier sketch by what this question says.
    pub(super) fn follow(&mut self, earlier: &Sketch, lean: Lean) {
        let mut merged = earlier.clone();
        let new = std::mem::take(&mut self.sketch);
        if let Some(condition) = self.against_earlier(earlier) {
            merged = Sketch {
                head: new.head.clone(),
                targets: new.targets.clone(),
                filters: vec![condition],
                ..Sketch::default()
            };
            self.finish_follow(merged, lean);
            return;
        }
        if lean == Lean::Rest {
            merged.filters =
                super::build::all(std::mem::take(&mut merged.filters)).map(negate).into_iter().collect();
            let absent = std::mem::take(&mut merged.absent);
            merged.also.extend(absent.into_iter().flat_map(|absent| absent.tables));
            merged.limit = None;
        }
        self.merge_filters(&mut merged, &new, lean);
        self.changed_number(&mut merged);
        if lean == Lean::Instead {
            self.changed_comparison(&mut merged);
        }
        let counts = new.targets.len() == 1
            && new
                .targets
                .iter()
                .all(|target| target.expr == Expr::Aggregate(Aggregate::Count, vec![Expr::Star]));
        let grouped = !new.groups.is_empty() || !new.entities.is_empty();
        if lean == Lean::Narrow {
            merged
                .groups
                .extend(new.groups.iter().filter(|_| !new.having.is_empty() || new.limit.is_some()).cloned());
            merged.entities.extend(
                new.entities.iter().filter(|_| !new.having.is_empty() || new.limit.is_some()).cloned(),
            );
        } else if !new.targets.is_empty() || grouped {
            self.merge_targets(&mut merged, &new, lean, counts, grouped);
        } else if self.asks_for_all() {
            merged.targets = vec![Target {
                expr: Expr::Column(merged.head.clone(), "*".to_owned()),
                name: "*".to_owned(),
            }];
            merged.groups.clear();
        }
        if !new.order.is_empty() || new.limit.is_some() {
            merged.order = new
                .order
                .iter()
                .map(|(expr, down)| {
                    (if *expr == Expr::Star { first_plain(&merged) } else { expr.clone() }, *down)
                })
                .collect();
            merged.limit = new.limit.or(if lean == Lean::Instead { merged.limit } else { None });
            if merged.order.iter().any(|(expr, _)| has_aggregate(expr))
                && merged.groups.is_empty()
                && merged.entities.is_empty()
            {
                merged.groups.clone_from(&new.groups);
                merged.entities.clone_from(&new.entities);
            }
        }
        self.lone_superlative(&mut merged);
        if new.distinct {
            merged.distinct = true;
        }
        merged.having.extend(
            new.having
                .iter()
                .filter(|condition| !merged.having.contains(condition))
                .cloned()
                .collect::<Vec<_>>(),
        );
        if new.both.is_some() {
            merged.both = new.both;
        }
        merged.per_group = new.per_group.or(merged.per_group);
        self.finish_follow(merged, lean);
    }

    pub(super) fn finish_follow(&mut self, mut merged: Sketch, lean: Lean) {
        let tables: Vec<String> = self.named.iter().map(|(_, table)| self.table_name(*table)).collect();
        merged.also.retain(|table| {
            !merged.absent.iter().any(|absent| absent.tables.contains(table)) || tables.contains(table)
        });
        let only_filters = self.sketch.targets.is_empty() && lean == Lean::Instead && !self.found.is_empty();
        self.sketch = merged;
        self.doubt(if only_filters { 0.9 } else { 0.72 });
        self.reasoning.push(super::FOLLOW_UP.to_owned());
    }

    pub(super) fn asks_for_all(&self) -> bool {
        self.marks.iter().any(|mark| {
            mark.key == Some(Key::Everything)
                && matches!(mark.text.to_lowercase().as_str(), "information" | "details" | "info")
        })
    }

    /// "how about more than 3?": the same comparison with another number.
    pub(super) fn changed_number(&mut self, merged: &mut Sketch) {
        let lone = (0..self.marks.len()).find(|at| {
            self.mark(*at).is_some_and(|mark| !mark.used && mark.number.is_some() && mark.time.is_none())
        });
        let Some(at) = lone else { return };
        let Some(number) = self.mark(at).and_then(|mark| mark.number) else { return };
        let said = (0..at).rev().find_map(|place| {
            if let Some(Key::Cmp(compare, _)) = self.key(place) { Some((place, compare)) } else { None }
        });
        let inclusive = match self.key(at + 1) {
            Some(Key::OrMore) => Some(Compare::GreaterOrEqual),
            Some(Key::OrLess) => Some(Compare::LessOrEqual),
            _ => None,
        };
        let compare = inclusive.or(said.map(|(_, compare)| compare));
        let numeric = |condition: &&mut Condition| {
            matches!(condition, Condition::Compare(_, _, Expr::Literal(Literal::Int(_) | Literal::Float(_))))
        };
        let Some(Condition::Compare(_, old, value)) =
            merged.having.iter_mut().rev().chain(merged.filters.iter_mut().rev()).find(numeric)
        else {
            return;
        };
        *old = compare.unwrap_or(*old);
        *value = Expr::Literal(super::filters::number_literal(number));
        self.take(at);
        said.into_iter().for_each(|(place, _)| self.take(place));
    }

    /// "how about after?": the same comparison the other way round.
    fn changed_comparison(&mut self, merged: &mut Sketch) {
        let has_number = self.marks.iter().any(|mark| mark.number.is_some() || mark.time.is_some());
        let said = (0..self.marks.len()).find_map(|at| match self.key(at) {
            Some(Key::Cmp(compare, _)) if !self.mark(at).is_some_and(|mark| mark.used) => Some((at, compare)),
            _ => None,
        });
        let Some((at, compare)) = said.filter(|_| !has_number) else { return };
        let is_ordering = |condition: &&mut Condition| {
            matches!(
                condition,
                Condition::Compare(
                    _,
                    Compare::Less | Compare::LessOrEqual | Compare::Greater | Compare::GreaterOrEqual,
                    Expr::Literal(_) | Expr::Scalar(_)
                )
            )
        };
        let known = merged.having.iter_mut().rev().chain(merged.filters.iter_mut().rev()).find(is_ordering);
        if let Some(Condition::Compare(_, old, _)) = known {
            *old = compare;
            self.take(at);
        }
    }

    pub(super) fn merge_filters(&mut self, merged: &mut Sketch, new: &Sketch, lean: Lean) {
        for condition in &new.filters {
            let column = compared(condition);
            let same = merged.filters.iter().position(|old| column.is_some() && compared(old) == column);
            let equal = |condition: &Condition| {
                matches!(
                    condition,
                    Condition::Compare(_, Compare::Equal, _) | Condition::In(..) | Condition::Within(..)
                )
            };
            match same {
                Some(place) if lean == Lean::Also => {
                    if let Some(old) = merged.filters.get_mut(place) {
                        *old = Condition::Any(vec![old.clone(), condition.clone()]);
                    }
                }
                Some(place)
                    if lean == Lean::Instead
                        || merged.filters.get(place).is_some_and(|old| equal(old) && equal(condition)) =>
                {
                    if let Some(old) = merged.filters.get_mut(place) {
                        *old = condition.clone();
                    }
                }
                _ => merged.filters.push(condition.clone()),
            }
        }
        merged.absent.extend(new.absent.iter().cloned());
        for table in &new.also {
            if !merged.also.contains(table) {
                merged.also.push(table.clone());
            }
        }
    }

    pub(super) fn merge_targets(
        &mut self,
        merged: &mut Sketch,
        new: &Sketch,
        lean: Lean,
        counts: bool,
        grouped: bool,
    ) {
        let was_grouped = !merged.groups.is_empty() || !merged.entities.is_empty();
        let each = self.marks.iter().any(|mark| mark.key == Some(Key::Each));
        if counts && !grouped && each && !was_grouped {
            // "how many for each": the things of the earlier answer are the groups.
            merged.entities = vec![merged.head.clone()];
            merged.targets.extend(new.targets.iter().cloned());
            merged.order.clear();
            merged.limit = None;
            merged.distinct = false;
            return;
        }
        if counts && lean != Lean::Also {
            // The rows that are counted are those that were listed.
            for target in &merged.targets {
                if let Expr::Column(table, _) = &target.expr
                    && !merged.also.contains(table)
                {
                    merged.also.push(table.clone());
                }
            }
        }
        let aggregated = new.targets.iter().any(|target| has_aggregate(&target.expr));
        let listed: Vec<Target> = (merged.targets.iter())
            .filter(|target| matches!(&target.expr, Expr::Column(_, name) if name != "*"))
            .cloned()
            .collect();
        if aggregated && !counts && !grouped && each && !was_grouped && !listed.is_empty() {
            // "for each of those, the highest …": what was listed makes the groups.
            merged.groups = listed.iter().map(|target| target.expr.clone()).collect();
            merged.targets = listed.into_iter().chain(new.targets.iter().cloned()).collect();
            merged.order.clear();
            merged.limit = None;
            merged.distinct = false;
            return;
        }
        if counts && !grouped && lean != Lean::Also {
            let plain_rows = !was_grouped
                && !merged.distinct
                && merged.limit.is_none()
                && merged.both.is_none()
                && merged.having.is_empty();
            if plain_rows {
                merged.targets.clone_from(&new.targets);
                merged.order.clear();
            } else if new.having.is_empty() {
                merged.count_rows = true;
            } else {
                merged.targets.clone_from(&new.targets);
            }
            return;
        }
        if lean == Lean::Also && (!grouped || new.targets.iter().all(|target| !has_aggregate(&target.expr))) {
            for target in &new.targets {
                if !merged.targets.iter().any(|known| known.expr == target.expr) {
                    merged.targets.push(target.clone());
                }
            }
            return;
        }
        if grouped {
            // "for each of them": the things of the earlier answer are the groups.
            merged.groups.clone_from(&new.groups);
            merged.entities.clone_from(&new.entities);
            merged.order.clear();
            merged.limit = None;
            merged.distinct = false;
            if lean == Lean::Also {
                merged.targets.extend(new.targets.iter().cloned());
            } else {
                merged.targets.clone_from(&new.targets);
            }
            return;
        }
        let keep_groups = was_grouped && merged.limit.is_some() && !aggregated;
        merged.targets.clone_from(&new.targets);
        merged.count_rows = false;
        if !keep_groups {
            if !merged.having.is_empty() {
                // The groups still say which things count.
            } else {
                merged.groups.clear();
                merged.entities.clear();
                if aggregated && merged.limit.is_none() {
                    merged.order.clear();
                }
                merged.order.retain(|(expr, _)| !has_aggregate(expr));
                if merged.order.is_empty() {
                    merged.limit = None;
                }
            }
        }
        if lean == Lean::Same {
            merged.distinct = new.distinct;
        }
    }

    /// "the largest one", "the first one": about what the earlier answer showed.
    pub(super) fn lone_superlative(&mut self, merged: &mut Sketch) {
        let lone = (0..self.marks.len()).find(|at| {
            matches!(
                self.key(*at),
                Some(
                    Key::Super(..)
                        | Key::Agg(Aggregate::Min | Aggregate::Max | Aggregate::Average | Aggregate::Sum)
                )
            ) && !self.mark(*at).is_some_and(|mark| mark.used)
        });
        let Some(at) = lone else { return };
        let measure = merged.targets.iter().position(|target| {
            matches!(&target.expr, Expr::Column(..))
                || matches!(
                    &target.expr,
                    Expr::Aggregate(Aggregate::Min | Aggregate::Max | Aggregate::Sum | Aggregate::Average, _)
                )
        });
        let Some(target) = measure.and_then(|place| merged.targets.get(place)).cloned() else { return };
        let column = match &target.expr {
            Expr::Aggregate(_, inner) => inner.first().cloned(),
            other => Some(other.clone()),
        };
        let Some(place) =
            column.as_ref().and_then(|column| self.place_of(column)).filter(|place| self.orderable(*place))
        else {
            return;
        };
        let aggregate = match self.key(at) {
            Some(Key::Super(true, _)) => Aggregate::Max,
            Some(Key::Super(false, _)) => Aggregate::Min,
            Some(Key::Agg(aggregate)) => aggregate,
            _ => return,
        };
        self.take(at);
        merged.targets.clear();
        merged.order.clear();
        merged.limit = None;
        let mut scratch = std::mem::replace(&mut self.sketch, merged.clone());
        self.add_aggregate(aggregate, place);
        std::mem::swap(&mut scratch, &mut self.sketch);
        *merged = scratch;
    }

    /// "above this": compared with the one number of the earlier answer.
    pub(super) fn against_earlier(&mut self, earlier: &Sketch) -> Option<Condition> {
        let [Target { expr: Expr::Aggregate(_, inner), .. }] = earlier.targets.as_slice() else {
            return None;
        };
        if !earlier.groups.is_empty() || !earlier.entities.is_empty() {
            return None;
        }
        let at = (0..self.marks.len()).find(|at| {
            matches!(self.key(*at), Some(Key::Cmp(..)))
                && !self.mark(*at).is_some_and(|mark| mark.used)
                && self
                    .mark(at + 1)
                    .is_some_and(|mark| matches!(mark.text.to_lowercase().as_str(), "this" | "that" | "it"))
        })?;
        let Some(Key::Cmp(compare, _)) = self.key(at) else { return None };
        let column = inner.first().filter(|column| matches!(column, Expr::Column(..)))?.clone();
        let query = build(earlier, self.schema)?;
        self.take(at);
        Some(Condition::Compare(column, compare, Expr::Scalar(Box::new(query))))
    }
}

fn first_plain(sketch: &Sketch) -> Expr {
    sketch.targets.first().map_or(Expr::Literal(Literal::Int(1)), |target| target.expr.clone())
}

/// The column that a condition is about.
fn compared(condition: &Condition) -> Option<&Expr> {
    match condition {
        Condition::Compare(expr, _, Expr::Literal(_))
        | Condition::In(expr, _)
        | Condition::Like(expr, _)
        | Condition::Within(expr, _, _) => Some(expr),
        Condition::Any(all) | Condition::All(all) => all.first().and_then(compared),
        Condition::Not(inner) => compared(inner),
        _ => None,
    }
}

//! The operations over rows, and the forms that they make of a set of conditions.

use super::super::form::{Beside, Filter, Form, Group, Measure, OrderKey, Scalar};
use super::super::link::ColumnRef;
use super::super::lower::measure_places;
use super::conditions::{Choice, ConditionSet};
use super::parts::Part;
use super::{Question, RowFeature, RowForm, weigh};
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

/// A form before it is described.
struct Draft<'a> {
    operation: &'static str,
    form: Form,
    parts: Vec<&'a Part>,
    names: Vec<&'static str>,
    /// Marks that the operation uses besides its hints.
    marks: Vec<usize>,
}

/// Hints that an operation answers to: their marks are explained by it.
fn answers_to(operation: &str, cue: &str) -> bool {
    let wanted: &[&str] = match operation {
        "list" => &["show", "which", "only", "who", "when", "where"],
        "rows" | "different" => &["count", "often", "total", "distinct", "sum", "show"],
        "sum" => &["count", "much", "total", "sum"],
        "average" => &["average"],
        "largest value" | "row with the largest" | "largest sum" => {
            &["largest", "more", "than", "or", "last", "common"]
        }
        "smallest value" | "row with the smallest" => &["smallest", "less", "than", "or", "first", "more"],
        "most rows" | "count of most rows" => &["largest", "common", "often", "more", "or"],
        "fewest rows" => &["smallest", "rare", "often", "less", "or"],
        "first row" => &["first", "largest", "or", "before"],
        "last row" => &["last", "smallest", "or", "after"],
        "row behind" | "rows behind" => &["next", "after", "last"],
        "row before" | "rows before" => &["previous", "before", "first"],
        "difference" | "difference of columns" => {
            &["difference", "more", "less", "than", "both", "count", "long"]
        }
        "difference of counts" => &["difference", "more", "less", "than", "count"],
        "like" | "rows like" => &["same", "besides"],
        "groups" | "count of groups" => &["compare", "often", "number", "more", "than", "count"],
        _ => &[],
    };
    wanted.contains(&cue)
}

impl Question<'_> {
    /// Adds every form that a set of conditions allows.
    pub(super) fn add_forms(&self, set: &ConditionSet, found: &mut Vec<RowForm>) {
        let (targets, keys) = (self.targets(set), self.keys(set));
        let mut drafts: Vec<Draft> = Vec::new();
        self.add_lists(set, &targets, &mut drafts);
        self.add_counts(set, &targets, &keys, &mut drafts);
        self.add_extremes(set, &targets, &keys, &mut drafts);
        self.add_places(set, &targets, &mut drafts);
        self.add_neighbours(set, &targets, &mut drafts);
        self.add_differences(set, &keys, &mut drafts);
        self.add_groups(set, &targets, &mut drafts);
        self.add_alike(set, &targets, &mut drafts);
        found.extend(drafts.into_iter().map(|draft| self.describe(set, draft)));
    }

    fn any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    fn add_lists<'a>(&self, set: &ConditionSet, targets: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        if set.choices.is_empty() {
            return;
        }
        for target in targets {
            let form = Form { show: vec![target.place], distinct: true, ..self.base(set) };
            drafts.push(Draft::new("list", form, vec![target]));
        }
    }

    fn base(&self, set: &ConditionSet) -> Form {
        Form { filters: set.filters(), ..Form::default() }
    }

    /// The condition that leaves out lines with totals, where the table has some.
    fn without_totals(&self, mut form: Form) -> Form {
        for (place, role) in self.schema.places() {
            let Some(column) =
                self.schema.column(place).filter(|_| matches!(role, Role::Text | Role::Category))
            else {
                continue;
            };
            let is_total = |value: &str| {
                matches!(
                    value.trim().trim_end_matches([':', '*']).to_lowercase().as_str(),
                    "total" | "totals" | "overall" | "sum" | "grand total"
                )
            };
            let values: Vec<String> = column
                .values
                .iter()
                .filter(|(value, _)| is_total(value))
                .map(|(value, _)| value.clone())
                .collect();
            if !values.is_empty() && !form.filters.iter().any(|filter| filter.place() == place) {
                form.filters.push(Filter::Values { place, values, negated: true });
                break;
            }
        }
        form
    }

    fn add_counts<'a>(
        &self,
        set: &ConditionSet,
        targets: &'a [Part],
        keys: &'a [Part],
        drafts: &mut Vec<Draft<'a>>,
    ) {
        let of = |aggregate, place| Form {
            measures: vec![Measure::Of(aggregate, Scalar::Column(place))],
            ..self.without_totals(self.base(set))
        };
        if self.any(&["count", "much", "total", "often"]) {
            let form = Form { measures: vec![Measure::Rows], ..self.without_totals(self.base(set)) };
            drafts.push(Draft::new("rows", form, Vec::new()));
            // Different numbers are counted only where that is said.
            let counted = |target: &&Part| self.has("distinct") || !self.is_number(target.place);
            for target in targets.iter().take(4).filter(counted) {
                drafts.push(Draft::new(
                    "different",
                    of(Aggregate::CountDistinct, target.place),
                    vec![target],
                ));
            }
        }
        for key in keys.iter().filter(|key| self.is_number(key.place)) {
            if self.any(&["count", "much", "total", "sum"]) {
                drafts.push(Draft::new("sum", of(Aggregate::Sum, key.place), vec![key]));
            }
            if self.has("average") {
                drafts.push(Draft::new("average", of(Aggregate::Average, key.place), vec![key]));
            }
        }
    }

    /// A number beside a hint that says how many rows are wanted.
    fn limit(&self) -> Option<(u64, usize)> {
        let cues = ["first", "last", "largest", "smallest"];
        self.cues.iter().filter(|cue| cues.contains(&cue.name)).find_map(|cue| {
            [cue.mark.checked_sub(1), Some(cue.mark + 1)].into_iter().flatten().find_map(|near| {
                let number = self.marks.get(near)?.number.filter(|n| (2.0..30.0).contains(n))?;
                Some((number as u64, near))
            })
        })
    }

    fn add_extremes<'a>(
        &self,
        set: &ConditionSet,
        targets: &'a [Part],
        keys: &'a [Part],
        drafts: &mut Vec<Draft<'a>>,
    ) {
        // "A or B" alone says no direction; a rank is best when it is low.
        let (most, least) =
            (self.any(&["largest", "more", "last", "common"]), self.any(&["smallest", "less", "first"]));
        let open = self.has("or") && !most && !least;
        let (up, down) = (most || open, least || open || self.has("largest"));
        let paired = set.pair().map(|(first, _)| first.filter.place());
        let limit = self.limit().filter(|(_, near)| !set.uses(*near));
        for (largest, wanted) in [(true, up), (false, down)] {
            if !wanted {
                continue;
            }
            let (of, aggregate, by) = if largest {
                ("row with the largest", Aggregate::Max, "largest value")
            } else {
                ("row with the smallest", Aggregate::Min, "smallest value")
            };
            for key in keys {
                if self.is_number(key.place) {
                    let form = Form {
                        measures: vec![Measure::Of(aggregate, Scalar::Column(key.place))],
                        ..self.without_totals(self.base(set))
                    };
                    drafts.push(Draft::new(by, form, vec![key]));
                }
                let form = Form {
                    order: Some((OrderKey::Column(key.place), largest)),
                    limit: Some(1),
                    ..self.without_totals(self.base(set))
                };
                let others = targets.iter().filter(|target| target.place != key.place).take(4);
                for target in others {
                    let form = Form { show: vec![target.place], ..form.clone() };
                    let mut draft = Draft::new(of, form, vec![key, target]);
                    if paired == Some(target.place) {
                        draft.names.push("one of two");
                    }
                    if let Some((limit, near)) = limit {
                        let mut more = Draft::new(
                            of,
                            Form { limit: Some(limit), ..draft.form.clone() },
                            vec![key, target],
                        );
                        more.names.push("limit said");
                        more.marks.push(near);
                        drafts.push(more);
                    }
                    drafts.push(draft);
                }
            }
            self.add_most_rows(set, targets, keys, largest, drafts);
        }
    }

    /// No scale: the value that stands in most rows, or for which a sum is largest.
    fn add_most_rows<'a>(
        &self,
        set: &ConditionSet,
        targets: &'a [Part],
        keys: &'a [Part],
        largest: bool,
        drafts: &mut Vec<Draft<'a>>,
    ) {
        let paired = set.pair().map(|(first, _)| first.filter.place());
        for target in targets.iter().take(4) {
            let form = Form {
                measures: vec![Measure::Rows],
                groups: vec![Group::Column(target.place)],
                order: Some((OrderKey::Measure(0), largest)),
                limit: Some(1),
                names_only: true,
                ..self.without_totals(self.base(set))
            };
            let operation = if largest { "most rows" } else { "fewest rows" };
            let mut draft = Draft::new(operation, form.clone(), vec![target]);
            if paired == Some(target.place) {
                draft.names.push("one of two");
            }
            drafts.push(draft);
            let is_scale = |key: &&Part| self.is_number(key.place) && key.place != target.place;
            for key in keys.iter().take(2).filter(is_scale).filter(|_| largest) {
                let measures = vec![Measure::Of(Aggregate::Sum, Scalar::Column(key.place))];
                let form = Form { measures, ..form.clone() };
                drafts.push(Draft::new("largest sum", form, vec![key, target]));
            }
        }
    }

    /// The first or last row of the table.
    fn add_places<'a>(&self, set: &ConditionSet, targets: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        let limit = self.limit().filter(|(_, near)| !set.uses(*near));
        let paired = set.pair().map(|(first, _)| first.filter.place());
        for (operation, down, cues) in [
            ("first row", false, ["first", "largest", "before"]),
            ("last row", true, ["last", "smallest", "after"]),
        ] {
            if !self.any(&cues) {
                continue;
            }
            for target in targets.iter().take(4) {
                let form = Form {
                    show: vec![target.place],
                    order: Some((OrderKey::Position, down)),
                    limit: Some(1),
                    ..self.base(set)
                };
                if let Some((limit, near)) = limit {
                    let mut more =
                        Draft::new(operation, Form { limit: Some(limit), ..form.clone() }, vec![target]);
                    more.names.push("limit said");
                    more.marks.push(near);
                    drafts.push(more);
                }
                let mut draft = Draft::new(operation, form, vec![target]);
                if paired == Some(target.place) {
                    draft.names.push("one of two");
                }
                drafts.push(draft);
            }
        }
    }

    /// The row right behind or before another one, and how many rows there are on that side.
    fn add_neighbours<'a>(&self, set: &ConditionSet, targets: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        for (operation, count, after, cues) in [
            ("row behind", "rows behind", true, ["next", "after"]),
            ("row before", "rows before", false, ["previous", "before"]),
        ] {
            let Some(cue) = self.cues.iter().find(|cue| cues.contains(&cue.name)) else { continue };
            for anchor in set.choices.iter().filter(|choice| is_name(choice)) {
                let equal = match &anchor.filter {
                    Filter::Number(place, _, number) => Filter::Number(*place, Compare::Equal, *number),
                    other => other.clone(),
                };
                let form = Form {
                    filters: set.filters_without(Some(anchor.mark)),
                    beside: Some(Box::new(Beside { anchor: vec![equal], after })),
                    ..Form::default()
                };
                let side =
                    if anchor.mark > cue.mark { "anchor behind the cue" } else { "anchor before the cue" };
                let timed =
                    matches!(anchor.filter, Filter::Number(..) | Filter::Within(..) | Filter::Between(..));
                let kind = if timed { "anchor is a number" } else { "anchor is a name" };
                if self.has("count") {
                    let form = Form { measures: vec![Measure::Rows], ..form.clone() };
                    drafts.push(Draft { names: vec![side, kind], ..Draft::new(count, form, Vec::new()) });
                }
                for target in targets.iter().take(4) {
                    let form = Form {
                        show: vec![target.place],
                        order: Some((OrderKey::Position, !after)),
                        limit: Some(1),
                        ..form.clone()
                    };
                    let mut draft =
                        Draft { names: vec![side, kind], ..Draft::new(operation, form, vec![target]) };
                    if anchor.filter.place() == target.place {
                        draft.names.push("column of the anchor");
                    }
                    drafts.push(draft);
                }
            }
        }
    }

    fn add_differences<'a>(&self, set: &ConditionSet, keys: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        if !self.any(&["difference", "more", "less", "long", "between"]) {
            return;
        }
        let pair = set.pair();
        for key in keys.iter().filter(|key| self.is_number(key.place)) {
            let of = |aggregate| Box::new(Measure::Of(aggregate, Scalar::Column(key.place)));
            let form = Form {
                measures: vec![Measure::Less(of(Aggregate::Max), of(Aggregate::Min))],
                ..self.without_totals(self.base(set))
            };
            let mut draft = Draft::new("difference", form, vec![key]);
            draft.names.push(if pair.is_some() { "of two" } else { "of all" });
            drafts.push(draft);
        }
        if let Some((first, second)) = pair.filter(|_| self.has("count")) {
            let rows = |choice: &Choice| Box::new(Measure::RowsWhere(Box::new(choice.filter.clone())));
            let others = set.filters_without(Some(first.mark));
            let filters =
                others.into_iter().filter(|filter| filter.place() != first.filter.place()).collect();
            let measures = vec![Measure::Less(rows(first), rows(second))];
            drafts.push(Draft::new(
                "difference of counts",
                Form { measures, filters, ..Form::default() },
                Vec::new(),
            ));
        }
        for first in keys {
            for second in keys.iter().filter(|second| second.place != first.place) {
                if set.choices.is_empty() || !self.is_number(first.place) || !self.is_number(second.place) {
                    continue;
                }
                let value = Scalar::Difference(first.place, second.place);
                let form = Form { measures: vec![Measure::Of(Aggregate::Max, value)], ..self.base(set) };
                let mut draft = Draft::new("difference of columns", form, vec![first, second]);
                if first.place.column > second.place.column {
                    draft.names.push("later column first");
                }
                drafts.push(draft);
            }
        }
    }

    /// Things that stand in so many rows: "won more than twice".
    fn add_groups<'a>(&self, set: &ConditionSet, targets: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        let said = self.marks.iter().enumerate().find_map(|(at, mark)| {
            let times = match mark.text.to_lowercase().as_str() {
                "once" => Some(1.0),
                "twice" => Some(2.0),
                "thrice" => Some(3.0),
                _ => None,
            };
            let number = mark.number.filter(|number| (1.0..50.0).contains(number)).or(times)?;
            (!set.uses(at)).then_some((at, number))
        });
        let Some((at, number)) = said else { return };
        let compare = self.comparison(at);
        let marks = compare.as_ref().map(|(_, marks)| marks.clone()).unwrap_or_default();
        let compare = compare.map_or(Compare::Equal, |(compare, _)| compare);
        for target in targets.iter().take(3) {
            let form = Form {
                measures: vec![Measure::Rows],
                groups: vec![Group::Column(target.place)],
                having: vec![(0, compare, number)],
                names_only: true,
                ..self.without_totals(self.base(set))
            };
            if self.has("count") {
                let form = Form { tally: Some(super::super::form::Tally::Groups), ..form.clone() };
                let marks = [marks.as_slice(), &[at]].concat();
                drafts.push(Draft { marks, ..Draft::new("count of groups", form, vec![target]) });
            }
            let marks = [marks.as_slice(), &[at]].concat();
            drafts.push(Draft { marks, ..Draft::new("groups", form, vec![target]) });
        }
    }

    /// Other rows with the same value of a column.
    fn add_alike<'a>(&self, set: &ConditionSet, targets: &'a [Part], drafts: &mut Vec<Draft<'a>>) {
        if !self.has("same") || set.choices.is_empty() {
            return;
        }
        let of = set.filters();
        let anchors: Vec<ColumnRef> = of.iter().map(Filter::place).collect();
        for column in targets.iter().filter(|part| !anchors.contains(&part.place)) {
            let filters = vec![Filter::SameAs(column.place, of.clone())];
            if self.has("count") {
                let form =
                    Form { measures: vec![Measure::Rows], filters: filters.clone(), ..Form::default() };
                drafts.push(Draft::new("rows like", form, vec![column]));
            }
            for anchor in anchors.iter().take(1) {
                let form = Form { filters: filters.clone(), show: vec![*anchor], ..Form::default() };
                drafts.push(Draft::new("like", form, vec![column]));
            }
        }
    }

    /// A draft with its features and the marks that it uses.
    fn describe(&self, set: &ConditionSet, draft: Draft) -> RowForm {
        let operation = draft.operation;
        let mut features: Vec<RowFeature> = vec![((operation, "bias"), 1.0)];
        let mut names: Vec<&'static str> = self.cues.iter().map(|cue| cue.name).collect();
        names.sort_unstable();
        names.dedup();
        features.extend(names.iter().map(|name| ((operation, *name), 1.0)));
        features.extend(draft.names.iter().map(|name| ((operation, *name), 1.0)));
        // What is said of the only part speaks for one operation more than for another.
        if let [part] = draft.parts.as_slice() {
            features.extend(part.features.first().map(|((_, name), value)| ((operation, *name), *value)));
            let number = if self.is_number(part.place) { "of numbers" } else { "of texts" };
            features.push(((operation, number), 1.0));
        }
        if set.pair().is_some() {
            features.push(((operation, "pair"), 1.0));
        }
        if set.choices.is_empty() {
            features.push(((operation, "no condition"), 1.0));
        }
        features.extend(set.features.iter().copied());
        features.extend(draft.parts.iter().flat_map(|part| part.features.iter().copied()));
        let places = form_places(&draft.form);
        let mut used = vec![false; self.marks.len()];
        let mut left = 0.0;
        for (at, cell) in used.iter_mut().enumerate() {
            let column = places.iter().map(|place| self.naming(at, *place)).fold(0.0, f32::max);
            let cue = self.cues.iter().any(|cue| cue.mark == at && answers_to(operation, cue.name));
            *cell = set.uses(at) || column >= 0.25 || cue || draft.marks.contains(&at);
            let named = self.marks.get(at).is_some_and(|mark| {
                mark.column_quality() >= 0.6 && mark.column_quality() >= mark.value_quality()
            });
            if named && !*cell {
                left += 1.0;
            }
        }
        features.push((("form", "columns left out"), left));
        let score = weigh(&features);
        RowForm { form: draft.form, used, features, score }
    }
}

impl<'a> Draft<'a> {
    fn new(operation: &'static str, form: Form, parts: Vec<&'a Part>) -> Self {
        Self { operation, form, parts, names: Vec::new(), marks: Vec::new() }
    }
}

/// Whether a condition names a row or a few.
fn is_name(choice: &Choice) -> bool {
    match &choice.filter {
        Filter::Values { values, negated, .. } => !negated && values.len() <= 6,
        Filter::Number(..) | Filter::Within(..) => true,
        _ => false,
    }
}

/// All columns of a form.
fn form_places(form: &Form) -> Vec<ColumnRef> {
    let mut places: Vec<ColumnRef> = form.show.clone();
    places.extend(form.filters.iter().flat_map(Filter::places));
    places.extend(form.groups.iter().map(Group::place));
    form.measures.iter().for_each(|measure| measure_places(measure, &mut places));
    if let Some((OrderKey::Column(place), _)) = form.order {
        places.push(place);
    }
    places
}

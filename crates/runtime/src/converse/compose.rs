//! Composes the reply: results with their sources, missing parts with reasons, and suggestions.

use super::Carried;
use super::call::Call;
use super::carry::{Done, Ended, StepOutcome, Work, what};
use super::confidence;
use super::confirm;
use super::reply::{Asked, Missing, Offered, Outcome, Reply, Shown, StepDone};
use serde_json::Value as Json;
use std::time::Duration;
use steward_analysis::planner::FOLLOW_UP;
use steward_domain::{
    AgentResponse, Attempt, CallId, CallStatus, Check as _, Domain, DomainName, DomainRoutingDecision, Label,
    Question, ToolCall, ToolName,
};
use steward_language::answer::{Table, conflicts};
use steward_language::skill::{Answered, suggest};
use steward_language::understand::{self, FOLLOWS, Kind, Understood};

/// The maximum length of an answer, in characters.
const LONGEST: usize = 20_000;

pub(super) fn reply(work: &Work, understood: &Understood, done: &Done) -> Reply {
    let outcome = outcome(understood, done);
    let missing: Vec<Missing> =
        done.ended.iter().filter_map(|ended| lacking(ended, &done.ended, work)).collect();
    let tables = tables(work, done);
    let sides: Vec<(&str, &Table)> =
        tables.iter().map(|shown| (shown.source.as_str(), &shown.table)).collect();
    let conflicts = conflicts(&sides);
    let question = asked(understood, done);
    let mut lines = words(work, understood, done, outcome);
    lines.extend(conflicts.iter().cloned());
    if let (Some(question), false) = (&question, outcome == Outcome::Confirm && lines.len() > 1) {
        lines.retain(|line| *line != question.text);
        lines.push(question.text.clone());
    }
    let mut answer = lines.join("\n");
    if answer.chars().count() > LONGEST {
        answer = answer.chars().take(LONGEST).chain(['…']).collect();
    }
    if answer.trim().is_empty() {
        "Done.".clone_into(&mut answer);
    }
    let elapsed = work.chat.app().clock.monotonic().saturating_sub(work.began);
    let partial = matches!(outcome, Outcome::Partial | Outcome::Failed) || !missing.is_empty();
    let sources = sources(work, done);
    let answered = matches!(outcome, Outcome::Answered | Outcome::Partial);
    let response = AgentResponse {
        answer,
        suggestions: if answered { suggestions(work, done) } else { help_suggestions(work, outcome) },
        // An answer from calls without a nameable source is a partial one.
        partial_results: partial
            || (sources.is_empty() && done.ended.iter().any(|ended| !ended.calls.is_empty())),
        sources,
        tool_calls_made: {
            let looked = work.looked.iter().filter_map(|call| made(call, None));
            looked.chain(done.ended.iter().flat_map(calls)).collect()
        },
        confidence: confidence::certainty(outcome, understood, done),
        total_execution_time_ms: millis(elapsed),
    };
    Reply {
        conversation_id: work.memory.id,
        task_id: work.task,
        outcome,
        response,
        question,
        tables,
        steps: done.ended.iter().map(step_done).collect(),
        missing,
        conflicts,
        routing: routing(work, understood),
        reasons: understood.reasons.clone(),
        carried: carried(work, understood, done),
        decisions: Vec::new(),
        waiting: done.waiting.clone(),
        model: None,
        client_calls: Vec::new(),
        client_text: None,
        cut_off: false,
        unverified: Vec::new(),
        analyses: done.ended.iter().filter_map(|ended| ended.analysis.as_deref().cloned()).collect(),
    }
}

/// What an analysis reused from earlier turns.
fn carried(work: &Work, understood: &Understood, done: &Done) -> Vec<Carried> {
    let analyses = || done.ended.iter().filter_map(|ended| ended.analysis.as_deref());
    let mut carried = Vec::new();
    if work.turn.data.is_empty() && !work.data.is_empty() && analyses().next().is_some() {
        carried.push(Carried::Data);
    }
    let reads_on = understood.reasons.iter().any(|reason| reason == FOLLOWS);
    let plans_on = || analyses().any(|answer| answer.reasoning.iter().any(|reason| reason == FOLLOW_UP));
    if analyses().next().is_some() && (reads_on || plans_on()) {
        carried.push(Carried::Question);
    }
    carried
}

fn outcome(understood: &Understood, done: &Done) -> Outcome {
    if done.declined {
        return Outcome::Declined;
    }
    if done.ended.is_empty() {
        return match understood.kind {
            _ if understood.question.is_some() => Outcome::Asked,
            Kind::Chat => Outcome::Chat,
            Kind::Help => Outcome::Help,
            Kind::Act | Kind::OutOfScope => Outcome::OutOfScope,
        };
    }
    let any = |wanted: fn(&StepOutcome) -> bool| done.ended.iter().any(|ended| wanted(&ended.came));
    let back = done
        .ended
        .iter()
        .any(|ended| ended.analysis.as_ref().is_some_and(|answer| answer.clarification.is_some()));
    let well = any(|came| matches!(came, StepOutcome::Done));
    match () {
        () if done.confirming.is_some() || !done.waiting.is_empty() => Outcome::Confirm,
        () if any(|came| matches!(came, StepOutcome::Ask(_))) || back => Outcome::Asked,
        () if done.ended.iter().all(|ended| matches!(ended.came, StepOutcome::Done)) => Outcome::Answered,
        () if well => Outcome::Partial,
        () if any(|came| matches!(came, StepOutcome::NotFound(_))) => Outcome::NotFound,
        () => Outcome::Failed,
    }
}

/// The sentences, in the order of the steps.
fn words(work: &Work, understood: &Understood, done: &Done, outcome: Outcome) -> Vec<String> {
    match outcome {
        Outcome::Declined => return vec!["All right, I leave it as it is.".to_owned()],
        Outcome::Chat => return vec![chat(work, &work.turn.said)],
        Outcome::Help => return help(work),
        Outcome::OutOfScope => return vec![outside(work)],
        _ => {}
    }
    let answered = done.ended.iter().filter(|ended| matches!(ended.came, StepOutcome::Done)).count();
    let domains: std::collections::BTreeSet<&DomainName> =
        done.ended.iter().filter_map(|ended| ended.step.domain.as_ref()).collect();
    // With several domains, each part names its source.
    let named = domains.len() > 1 && answered > 0;
    let mut lines = Vec::new();
    for ended in &done.ended {
        let prefix = match &ended.step.domain {
            Some(domain) if named => format!("{}: ", title(work, domain)),
            _ => String::new(),
        };
        if let StepOutcome::Done | StepOutcome::Confirm(_) = ended.came {
            let told = ended.told.iter().filter(|told| !told.text.trim().is_empty());
            lines.extend(told.map(|told| format!("{prefix}{}", told.text)));
        }
        match &ended.came {
            StepOutcome::Done => {
                if let Some(answer) = &ended.analysis {
                    lines.push(format!("{prefix}{}", answer.answer));
                    lines.extend(
                        answer.response.summary.key_findings.iter().map(|finding| format!("  • {finding}")),
                    );
                    // Assumptions are part of the answer.
                    lines.extend(answer.assumptions.iter().map(|assumed| format!("Assumed: {assumed}")));
                    lines.extend(
                        answer.response.summary.warnings.iter().map(|warning| format!("Careful: {warning}")),
                    );
                }
            }
            StepOutcome::NotFound(text) => lines.push(text.clone()),
            StepOutcome::Failed { humane, .. } => {
                lines.push(format!("{prefix}{} {}", humane.message, humane.next).trim_end().to_owned());
            }
            StepOutcome::Late => lines.push(format!(
                "{prefix}There was no answer within {} s. Ask for it alone, or try again in a moment.",
                work.chat.limits.answer.as_secs()
            )),
            // It runs after the decision.
            StepOutcome::Skipped(before) if decides(&done.ended, *before) => {}
            StepOutcome::Skipped(before) => {
                let first = done.ended.get(*before).map(|ended| what(&ended.step)).unwrap_or_default();
                lines.push(format!(
                    "{prefix}I did not {}, because it builds on “{first}”.",
                    what(&ended.step)
                ));
            }
            StepOutcome::Ask(question) => lines.push(question.text.clone()),
            StepOutcome::Confirm(_) => {}
        }
    }
    if let Some(confirming) = &done.confirming {
        lines.push(confirm::question(confirming));
    }
    for task in &done.waiting {
        lines.push(format!(
            "This waits for somebody who may approve it (task {task}). What they decide is told here."
        ));
    }
    if lines.is_empty()
        && let Some(question) = &understood.question
    {
        lines.push(question.text.clone());
    }
    lines
}

/// Whether a step waits for a decision.
fn decides(ended: &[Ended], place: usize) -> bool {
    ended.get(place).is_some_and(|ended| matches!(ended.came, StepOutcome::Confirm(_)))
}

fn asked(understood: &Understood, done: &Done) -> Option<Asked> {
    if let Some(confirming) = &done.confirming {
        let offer = |label: String| Offered { say: label.clone(), label, record: None };
        let options = vec![offer(confirm::label(confirming)), offer(confirm::DECLINE_LABEL.to_owned())];
        return Some(Asked { text: confirm::question(confirming), options });
    }
    if done.declined {
        return None;
    }
    let back = done.ended.iter().find_map(|ended| ended.analysis.as_ref()?.clarification.as_ref());
    if let Some(back) = back {
        return Some(Asked::from(back));
    }
    let question = done.question.as_ref().map(|pending| &pending.question);
    let question = question.or(understood.question.as_ref().filter(|_| done.ended.is_empty()))?;
    let offer = |choice: &understand::Choice| Offered {
        label: choice.label.clone(),
        say: choice.label.clone(),
        record: choice.record.clone(),
    };
    Some(Asked { text: question.text.clone(), options: question.options.iter().map(offer).collect() })
}

fn chat(work: &Work, said: &str) -> String {
    let said = format!(" {} ", words_of(said).join(" "));
    let has = |cues: &[&str]| cues.iter().any(|cue| said.contains(&format!(" {cue} ")));
    match () {
        () if has(&["thank", "thanks", "thx", "cheers", "great", "perfect", "nice", "awesome"]) => {
            "You are welcome.".to_owned()
        }
        () if has(&["bye", "goodbye", "see you", "that's all", "good night"]) => "Goodbye.".to_owned(),
        () if has(&["hi", "hello", "hey", "good morning", "good evening", "good afternoon"]) => {
            format!("Hello! {}", able(work))
        }
        () => format!("I am not sure what to do with this. {}", able(work)),
    }
}

fn words_of(said: &str) -> Vec<String> {
    steward_language::words::words(said).into_iter().map(|word| word.lower).collect()
}

fn outside(work: &Work) -> String {
    format!("This is outside of what I can do here. {}", able(work))
}

fn able(work: &Work) -> String {
    let known = available_domains_text(work);
    let words = std::iter::once(known.as_str()).chain(work.absent.iter().map(String::as_str));
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

fn available_domains_text(work: &Work) -> String {
    let titles: Vec<String> = fields(work).iter().map(|domain| domain.display_name.to_string()).collect();
    match titles.split_last() {
        // Servers are configured, although they did not start.
        None if !work.absent.is_empty() => String::new(),
        None => {
            "Nothing is set up yet: name data with `--data`, or add a server with `steward mcp-servers add`."
                .to_owned()
        }
        Some((only, [])) => format!("I can help with {only}."),
        Some((last, rest)) => format!("I can help with {} and {last}.", rest.join(", ")),
    }
}

fn help(work: &Work) -> Vec<String> {
    let mut lines = vec![able(work)];
    for domain in fields(work) {
        let can: Vec<&str> = domain.capabilities.iter().map(Label::as_str).collect();
        if !can.is_empty() {
            lines.push(format!("  • {}: {}", domain.display_name, can.join("; ")));
        }
    }
    lines
}

/// The domains that this caller may ask.
fn fields(work: &Work) -> Vec<Domain> {
    let snapshot = work.chat.toolbox.registry().snapshot();
    let known: std::collections::BTreeSet<DomainName> =
        work.reader.domains().map(|topic| topic.name.clone()).collect();
    let mut found: Vec<Domain> = Vec::new();
    for topic in work.reader.domains() {
        match snapshot.domains.get(&topic.name) {
            Some(field) => found.push((**field.domain).clone()),
            None => {
                let Ok(display_name) = Label::new(topic.title.clone()) else { continue };
                let Ok(description) = steward_domain::Description::new(topic.title.clone()) else { continue };
                found.push(Domain {
                    name: topic.name.clone(),
                    display_name,
                    description,
                    capabilities: Vec::new(),
                    mcp_tools: Vec::new(),
                    data_sources: Vec::new(),
                    related_domains: known.iter().filter(|name| **name != topic.name).cloned().collect(),
                    enabled: true,
                });
            }
        }
    }
    found
}

fn suggestions(work: &Work, done: &Done) -> Vec<String> {
    let own =
        done.ended.iter().filter_map(|ended| ended.analysis.as_ref()).flat_map(|answer| &answer.suggestions);
    let domains: Vec<DomainName> = done.ended.iter().filter_map(|ended| ended.step.domain.clone()).collect();
    let near = suggest(Answered { question: &work.turn.said, domains: &domains }, &fields(work), |said| {
        work.reader.shows(said)
    });
    let mut found: Vec<String> = Vec::new();
    for text in own.cloned().chain(near.into_iter().map(|suggestion| suggestion.text)) {
        if found.len() < 3 && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Suggests what is available to a user who asks for something that is not.
fn help_suggestions(work: &Work, outcome: Outcome) -> Vec<String> {
    if !matches!(outcome, Outcome::OutOfScope | Outcome::Help) {
        return Vec::new();
    }
    fields(work)
        .iter()
        .filter_map(|domain| domain.capabilities.first())
        .take(3)
        .map(ToString::to_string)
        .collect()
}

pub(super) fn title(work: &Work, domain: &DomainName) -> String {
    let known = work.reader.domains().find(|topic| topic.name == *domain);
    known.map_or_else(|| domain.to_string(), |topic| topic.title.clone())
}

/// The missing part of the answer, and the reason.
fn lacking(ended: &Ended, all: &[Ended], work: &Work) -> Option<Missing> {
    let part = match &ended.step.domain {
        Some(domain) => format!("{}: {}", title(work, domain), what(&ended.step)),
        None => what(&ended.step),
    };
    match &ended.came {
        StepOutcome::Failed { humane, code, .. } => Some(Missing {
            part,
            reason: humane.message.clone(),
            next: humane.next.clone(),
            code: Some(code),
        }),
        StepOutcome::Late => Some(Missing {
            part,
            reason: format!("It did not answer within {} s.", work.chat.limits.answer.as_secs()),
            next: "Ask for it alone, or try again in a moment.".to_owned(),
            code: Some("TOL008"),
        }),
        StepOutcome::Skipped(before) if decides(all, *before) => None,
        StepOutcome::Skipped(before) => Some(Missing {
            part,
            reason: format!(
                "It builds on “{}”.",
                all.get(*before).map(|ended| what(&ended.step)).unwrap_or_default()
            ),
            next: "Settle that first.".to_owned(),
            code: None,
        }),
        _ => None,
    }
}

fn tables(work: &Work, done: &Done) -> Vec<Shown> {
    let mut shown = Vec::new();
    for ended in &done.ended {
        let source = ended.step.domain.as_ref().map(|domain| title(work, domain)).unwrap_or_default();
        let good =
            ended.calls.iter().filter_map(|call| call.result.as_ref().ok()).map(|receipt| receipt.call);
        let mut acted: Vec<CallId> = good.collect();
        // Lookups come first; the calls of the step itself are last, in the order of their results.
        acted.drain(..acted.len().saturating_sub(ended.told.len()));
        for (told, call_id) in ended.told.iter().zip(acted) {
            if let Some(table) = told.table.clone().filter(|table| !table.rows.is_empty()) {
                shown.push(Shown { source: source.clone(), call_id, table });
            }
        }
    }
    shown
}

fn sources(work: &Work, done: &Done) -> Vec<Label> {
    let mut found: Vec<Label> = Vec::new();
    let mut add = |name: String| {
        if let Ok(label) = Label::new(name)
            && !found.contains(&label)
        {
            found.push(label);
        }
    };
    for ended in &done.ended {
        if let Some(answer) = &ended.analysis {
            answer.sources.iter().for_each(|source| add(source.name.clone()));
        }
        if ended.calls.iter().any(|call| call.result.is_ok())
            && let Some(domain) = &ended.step.domain
        {
            add(title(work, domain));
        }
    }
    found
}

/// The successful calls of a step. Failed calls are in `missing`, and all calls are in the journal.
fn calls(ended: &Ended) -> impl Iterator<Item = ToolCall> + '_ {
    ended.calls.iter().filter_map(|call| made(call, ended.step.domain.as_ref()))
}

/// A successful call.
fn made(call: &Call, domain: Option<&DomainName>) -> Option<ToolCall> {
    Some(ToolCall {
        call_id: call.result.as_ref().ok()?.call,
        task_id: None,
        server: None,
        tool_name: call.tool.parse::<ToolName>().ok()?,
        domain: domain.cloned(),
        arguments: call.arguments.clone(),
        status: CallStatus::Completed,
        timestamp: call.at,
        attempt_number: Attempt::default(),
    })
}

/// The routing decision.
fn routing(work: &Work, understood: &Understood) -> Option<DomainRoutingDecision> {
    let asked =
        understood.question.as_ref().is_some_and(|question| question.why == understand::QuestionKind::Domain);
    let mut identified: Vec<DomainName> = Vec::new();
    for domain in understood.steps.iter().filter_map(|step| step.domain.as_ref()) {
        if !identified.contains(domain) {
            identified.push(domain.clone());
        }
    }
    let others =
        understood.domains.iter().map(|(domain, _)| domain).filter(|domain| !identified.contains(domain));
    let query: String = work.turn.said.chars().take(2000).collect();
    let decision = DomainRoutingDecision {
        user_query: Question::new(query).ok()?,
        alternatives: others.take(3).cloned().collect(),
        clarification_needed: identified.is_empty(),
        identified_domains: identified,
        reasoning: understood.reasons.join("; "),
        confidence: understood.confidence,
        ambiguity_detected: asked,
    };
    decision.validate().ok().map(|valid| (*valid).clone())
}

fn step_done(ended: &Ended) -> StepDone {
    StepDone {
        what: what(&ended.step),
        tool: ended.step.tool().map(str::to_owned),
        well: matches!(ended.came, StepOutcome::Done),
        milliseconds: millis(ended.took),
        calls: ended.calls.iter().filter_map(|call| Some(call.result.as_ref().ok()?.call)).collect(),
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The arguments and result of a call for the record, truncated.
pub(super) fn brief(call: &Call) -> Json {
    let came = match &call.result {
        Ok(receipt) => receipt.output.words().chars().take(500).collect::<String>(),
        Err(error) => error.to_string(),
    };
    serde_json::json!({ "tool": call.tool, "arguments": call.arguments, "came": came })
}

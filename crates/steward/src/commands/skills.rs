//! `steward skills`: the `SKILL.md` folders of the home.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use clap::Subcommand;
use serde_json::json;
use steward_tools::skill::Skills;

#[derive(Subcommand)]
pub(crate) enum SkillsCommand {
    /// Lists the skills of the home.
    List,
    /// Shows a skill.
    Show {
        /// Its name.
        name: String,
    },
    /// Finds the skills that match a request.
    Offer {
        /// The request, in plain language.
        request: String,
    },
}

pub(super) fn run(context: &Context, command: &SkillsCommand) -> Result<(), Failure> {
    let skills = Skills::load(&context.home.path.join("skills"));
    match command {
        SkillsCommand::List => {
            if context.json {
                let all = skills
                    .skills
                    .iter()
                    .map(|skill| json!({ "name": skill.name, "description": skill.description }));
                let problems = skills.problems.iter().map(ToString::to_string);
                document(
                    &json!({ "skills": all.collect::<Vec<_>>(), "problems": problems.collect::<Vec<_>>() }),
                );
                return Ok(());
            }
            let rows =
                skills.skills.iter().map(|skill| vec![skill.name.clone(), short(&skill.description, 90)]);
            table(
                &["skill", "what it is for"],
                rows.collect(),
                "no skills: put folders with a SKILL.md into skills/",
            );
            skills.problems.iter().for_each(|problem| say(paint(Tone::Warn, &problem.to_string())));
        }
        SkillsCommand::Show { name } => {
            let skill = skills.get(name).ok_or_else(|| {
                let known: Vec<&str> = skills.skills.iter().map(|skill| skill.name.as_str()).collect();
                Failure::user("TOL070", format!("there is no skill {name}. There is: {}", known.join(", ")))
            })?;
            say(skill.body()?);
        }
        SkillsCommand::Offer { request } => {
            let offers = skills.offer(request, None);
            if context.json {
                let all =
                    offers.iter().map(|offer| json!({ "name": offer.skill.name, "score": offer.score }));
                document(&json!({ "skills": all.collect::<Vec<_>>() }));
                return Ok(());
            }
            let rows = offers
                .iter()
                .map(|offer| vec![offer.skill.name.clone(), short(&offer.skill.description, 90)]);
            table(&["skill", "what it is for"], rows.collect(), "no skill fits");
        }
    }
    Ok(())
}

//! Runs a message as a turn: caller, conversation, progress message and answer.
//!
//! Invariants
//! - Nothing runs for unknown users. If the first message cannot be posted, the turn does not run,
//!   because its result could not be delivered.
//! - Progress is updated at most once per `progress_every`, and never after the answer.

use super::api::{Api, File, MessageTarget, Post};
use super::error::Error;
use super::event::{ChannelThread, Message, Person};
use super::mrkdwn::plain;
use super::{Slack, place, show, summary};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::PoisonError;
use std::time::Duration;
use steward_domain::{Coded as _, ConversationId};
use steward_policy::Caller;
use steward_runtime::converse::{ChatService, ProgressEvent, Reply, Turn};
use steward_store::Scope;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The maximum length of a request, in characters.
const LONGEST: usize = 2000;
/// The maximum number of cached names.
const NAMES: usize = 5000;

impl ChannelThread {
    pub(super) fn to(&self) -> MessageTarget<'_> {
        MessageTarget { channel: &self.channel, thread: self.thread.as_deref() }
    }

    fn key(&self) -> String {
        format!("{}/{}", self.channel, self.thread.as_deref().unwrap_or_default())
    }
}

impl Slack {
    /// Tells an unknown user how to get access.
    pub(super) async fn refuse(&self, to: MessageTarget<'_>, person: &Person) -> Result<(), Error> {
        let text = format!(
            "Hello <@{}>! I do not know you yet, so I have not done anything. Please ask {} to add you \
                (workspace {}, person {}).",
            person.user, self.options.contact, person.team, person.user
        );
        self.api.post(to, &Post { text, blocks: Vec::new() }).await.map(drop)
    }

    /// Answers a message. The caller must hold the turn of the thread.
    pub(super) async fn answer(&self, message: &Message, caller: Caller) -> Result<(), Error> {
        if !message.addressed && (message.to_others || !self.takes_part(message, &caller).await?) {
            return Ok(());
        }
        let names = self.names(&message.text).await;
        let said = plain(&message.text, |id| names.get(id).cloned()).trim().to_owned();
        let said = if said.is_empty() { "help".to_owned() } else { said };
        let taken = place::take(self.chat.toolbox().app(), &message.place, &caller.user, &message.ts).await?;
        let Some(conversation) = taken else { return Ok(()) };
        let to = message.place.to();
        if said.chars().count() > LONGEST {
            let text = format!(
                "This is too long for me: please say it in at most {LONGEST} characters, or put the data in a file."
            );
            return self.api.post(to, &show::words(&text)).await.map(drop);
        }
        let ts = self.api.post(to, &show::Progress::default().post()).await?;
        self.threads.is_new(&message.place.key());
        match summary::wanted(&said, message.in_thread) {
            Some(wanted) => {
                let told = self.summary(wanted, message, caller).await;
                let post = show::words(&told.unwrap_or_else(|error| sorry(&error)));
                self.replace(to, &ts, &post).await
            }
            None => {
                let data = self.options.data.clone();
                let turn = Turn { said, conversation: Some(conversation), caller, data, choice: None };
                self.converse(&turn, &message.place, &message.by, &ts).await
            }
        }
    }

    /// Runs the turn and replaces the progress message by the answer.
    pub(super) async fn converse(
        &self,
        turn: &Turn,
        place: &ChannelThread,
        asked: &Person,
        ts: &str,
    ) -> Result<(), Error> {
        let to = place.to();
        let said = say(&self.chat, turn, &self.api, (to, ts), self.options.progress_every);
        let reply = match Box::pin(said).await {
            Ok(reply) => reply,
            Err(error) => return self.replace(to, ts, &show::words(&sorry(&error.into()))).await,
        };
        let (post, files) = show::reply(&reply, place, asked);
        self.replace(to, ts, &post).await?;
        for file in files {
            let show::Attached { name, title, bytes } = file;
            if let Err(error) = self.api.upload(to, File { name: &name, title: &title, bytes }).await {
                let text = format!("{name} could not be uploaded. {error}");
                self.api.post(to, &show::words(&text)).await?;
            }
        }
        self.ask_for_approval(&reply, turn, to).await
    }

    /// Posts each pending call with its approval buttons.
    async fn ask_for_approval(&self, reply: &Reply, turn: &Turn, to: MessageTarget<'_>) -> Result<(), Error> {
        if reply.waiting.is_empty() {
            return Ok(());
        }
        let scope = Scope::User(turn.caller.user.clone());
        let waiting = self.chat.toolbox().approvals().list(&scope).await?;
        for call in waiting.iter().filter(|call| reply.waiting.contains(&call.task)) {
            self.api.post(to, &show::waiting(call)).await?;
        }
        Ok(())
    }

    /// Replaces a message. If Slack rejects the content, its text is posted as a new message.
    pub(super) async fn replace(&self, to: MessageTarget<'_>, ts: &str, post: &Post) -> Result<(), Error> {
        match self.api.update(to.channel, ts, post).await {
            Err(Error::Refused { .. }) => {
                let words = Post { text: post.text.clone(), blocks: Vec::new() };
                self.api.post(to, &words).await.map(drop)
            }
            done => done,
        }
    }

    /// Whether the bot takes part in the thread of a message: it wrote there, or this user has a
    /// conversation with it there.
    async fn takes_part(&self, message: &Message, caller: &Caller) -> Result<bool, Error> {
        let key = message.place.key();
        if self.threads.knows(&key) {
            return Ok(true);
        }
        if self.others.knows(&key) {
            return Ok(false);
        }
        let app = self.chat.toolbox().app();
        let known = place::current(app, &message.place, &caller.user).await?.is_some();
        let ours = known || {
            let (messages, _) = self.api.messages(message.place.to()).await?;
            let by = |message: &Json| message.get("user").and_then(Json::as_str).map(str::to_owned);
            messages.iter().any(|said| by(said).as_deref() == Some(message.bot.as_str()))
        };
        if ours {
            self.threads.is_new(&key)
        } else {
            self.others.is_new(&key)
        };
        Ok(ours)
    }

    /// The names of the mentioned users.
    pub(super) async fn names(&self, text: &str) -> HashMap<String, String> {
        let mut names = HashMap::new();
        for mention in text.split("<@").skip(1).take(50) {
            let id: String = mention.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect();
            if !id.is_empty() && !names.contains_key(&id) {
                let name = self.name(&id).await;
                names.insert(id, name);
            }
        }
        names
    }

    /// The name of a user. The id if the name is unavailable.
    pub(super) async fn name(&self, user: &str) -> String {
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned();
        if let Some(name) = known {
            return name;
        }
        let Ok(name) = self.api.name(user).await else { return user.to_owned() };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= NAMES {
            names.clear();
        }
        names.insert(user.to_owned(), name.clone());
        name
    }

    /// The active conversation of a user in this thread.
    pub(super) async fn conversation(
        &self,
        at: &ChannelThread,
        caller: &Caller,
    ) -> Result<Option<ConversationId>, Error> {
        let found = place::current(self.chat.toolbox().app(), at, &caller.user).await?;
        Ok(found.map(|conversation| conversation.id))
    }
}

/// The error message for the user.
pub(super) fn sorry(error: &Error) -> String {
    format!("I could not do this. {error} (`{}`)", error.code())
}

/// Runs a turn and updates its progress message. A pending update is awaited, so that it never
/// overwrites the answer.
async fn say(
    chat: &ChatService,
    turn: &Turn,
    api: &Api,
    (to, ts): (MessageTarget<'_>, &str),
    every: Duration,
) -> Result<Reply, steward_runtime::Error> {
    let (tell, mut heard) = mpsc::unbounded_channel::<ProgressEvent>();
    let done = CancellationToken::new();
    let watch = move |step: ProgressEvent| {
        if step.is_text_event() {
            let _no_subscriber_is_fine = tell.send(step);
        }
    };
    let said: Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(chat.say(turn, &watch));
    let turn = async {
        let reply = said.await;
        done.cancel();
        reply
    };
    let show = async {
        let mut progress = show::Progress::default();
        loop {
            let first = tokio::select! {
                biased;
                () = done.cancelled() => return,
                step = heard.recv() => step,
            };
            // Events within the pause are shown in one update.
            tokio::select! {
                () = done.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            let Some(first) = first else { return };
            progress.hear(first);
            while let Ok(step) = heard.try_recv() {
                progress.hear(step);
            }
            // A failed progress update does not stop the turn.
            let _shown = api.update_soon(to.channel, ts, &progress.post()).await;
        }
    };
    tokio::join!(turn, show).0
}

//! How much a message asks for, and how one that asks for much is cut: others have their turns between two portions of it.

use crate::inbox::{Ask, Frame, Frames, Message};
use crate::limits::HANG_UP_COMMANDS;
use onceover_engine::command::Command;
use onceover_engine::flow;

/// Of a message, or of the room that a turn has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Commands; each job of a command that names many counts.
    pub commands: usize,
    /// On the wire or, where that is more, in memory.
    pub bytes: usize,
}

impl Size {
    /// Of a message.
    pub fn of(message: &Message) -> Size {
        match message {
            Message::Frames(frames) => Size::of_frames(frames),
            Message::HungUp(_) => Size { commands: HANG_UP_COMMANDS, bytes: 0 },
            Message::Connected { .. }
            | Message::Disconnected(_)
            | Message::Problem(..)
            | Message::ProgramsFound
            | Message::ClearLog
            | Message::Act { .. }
            | Message::Http { .. }
            | Message::View(_)
            | Message::AccessChanged(_)
            | Message::Switch(_)
            | Message::Stop => Size { commands: 1, bytes: 0 },
        }
    }

    fn of_frames(frames: &Frames) -> Size {
        Size { commands: frames.frames.iter().map(commands_of).sum(), bytes: frames.bytes }
    }

    /// Whether `other` has no more of either.
    pub fn covers(self, other: Size) -> bool {
        other.commands <= self.commands && other.bytes <= self.bytes
    }

    /// What is left of it without `other`.
    pub fn without(self, other: Size) -> Size {
        Size { commands: self.commands.saturating_sub(other.commands), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// The lesser of each.
    pub fn min(self, other: Size) -> Size {
        Size { commands: self.commands.min(other.commands), bytes: self.bytes.min(other.bytes) }
    }

    /// How many of these it covers together, from the first on.
    pub fn fitting(self, sizes: impl Iterator<Item = Size>) -> usize {
        let mut room = self;
        let fits = |size: &Size| {
            let fits = room.covers(*size);
            room = room.without(*size);
            fits
        };
        sizes.take_while(fits).count()
    }

    /// Whether there is room for something.
    pub fn is_some(self) -> bool {
        self.commands > 0 && self.bytes > 0
    }
}

fn commands_of(frame: &Frame) -> usize {
    let jobs = match &frame.ask {
        Ask::Part(part) => part.adds.len(),
        Ask::Engine(Command::PushBulk { adds }) => adds.len(),
        Ask::Engine(Command::Flow(flow::Request::Push(jobs))) => jobs.len(),
        Ask::Engine(Command::AckBulk { acks }) => acks.len(),
        Ask::Engine(Command::Pull(pull)) => pull.count as usize,
        _ => 1,
    };
    jobs.max(1)
}

/// Takes the first commands of `frames` that `most` covers, or a single one that it does not; none when that would be all.
pub fn cut(frames: &mut Frames, most: Size) -> Option<Frames> {
    if most.covers(Size::of_frames(frames)) {
        return None;
    }
    let count = frames.frames.len();
    let each = frames.bytes / count.max(1);
    let sizes = frames.frames.iter().map(|frame| Size { commands: commands_of(frame), bytes: each });
    let fitting = most.fitting(sizes);
    if fitting == 0
        && let Some(Frame { request, cmd, ask: Ask::Part(part) }) = frames.frames.first_mut()
    {
        let adds = part.adds.len();
        if let Some(first) = part.cut(most) {
            let bytes = each * first.adds.len() / adds;
            let first = Frame { request: *request, cmd: cmd.clone(), ask: Ask::Part(Box::new(first)) };
            return Some(portion(frames, vec![first], bytes));
        }
    }
    let fitting = fitting.max(1);
    if fitting >= count {
        return None;
    }
    let rest = frames.frames.split_off(fitting);
    let first = std::mem::replace(&mut frames.frames, rest);
    Some(portion(frames, first, each * fitting))
}

/// Gives back its share of the inbox once it has been applied.
fn portion(of: &mut Frames, frames: Vec<Frame>, bytes: usize) -> Frames {
    of.bytes = of.bytes.saturating_sub(bytes);
    let permit = of.permit.as_mut().and_then(|permit| permit.split(bytes.min(permit.num_permits())));
    Frames { conn: of.conn, frames, bytes, read_at: of.read_at, last: false, permit }
}

#[cfg(test)]
#[path = "portion_tests.rs"]
mod portion_tests;

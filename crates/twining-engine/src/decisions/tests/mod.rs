mod commits;
mod decide;
mod settling;
mod telling;

mod commits;
mod decide;
mod rivals;
mod settling;
mod telling;

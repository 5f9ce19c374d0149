-- Questions to people are sealed with a key of their tenant, which every node reads; an answer is
-- used once.
alter table twining.tenant add column seal_key bytea not null check (length(seal_key) = 32)
    default sha256(convert_to(
        gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

create table twining.confirmation (
    tenant text collate "C" not null references twining.tenant,
    nonce text collate "C" not null check (length(nonce) = 32),
    at timestamptz not null default now(),
    primary key (tenant, nonce)
);

alter table twining.confirmation enable row level security;
alter table twining.confirmation force row level security;
create policy of_tenant on twining.confirmation to twining_app
    using (tenant = current_setting('twining.tenant'));
grant select, insert, delete on twining.confirmation to twining_app;

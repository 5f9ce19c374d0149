-- Ids are ULIDs as text. "C" compares bytes, which is the order of ULIDs and the quickest.
create table twining.tenant (
    id text collate "C" primary key check (length(id) = 26),
    name text collate "C" not null unique check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    state text not null default 'open' check (state in ('open', 'closed')),
    -- What a new repository may hold.
    byte_limit bigint not null default 10737418240,
    record_limit bigint not null default 10000000,
    made_at timestamptz not null default now()
);

-- The row of a repository stays locked from the append to the commit: that makes its numbers
-- gap-free and visible in order. Half of each page stays free for the updates.
create table twining.repo (
    tenant text collate "C" not null references twining.tenant,
    id text collate "C" not null unique check (length(id) = 26),
    name text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    state text not null default 'open' check (state in ('open', 'moving', 'closed')),
    head bigint not null default 0,
    planned bigint not null default 0,
    records bigint not null default 0,
    bytes bigint not null default 0,
    byte_limit bigint not null,
    record_limit bigint not null,
    made_at timestamptz not null default now(),
    primary key (tenant, id),
    unique (tenant, name)
) with (fillfactor = 50);

-- A body is text: jsonb would reorder keys and lose bytes that must be kept. Partitions cost an
-- append 2 to 3 %; to make them of a large table would mean to write it again.
create table twining.log (
    tenant text collate "C" not null,
    repo text collate "C" not null,
    seq bigint not null,
    key text collate "C" not null,
    at timestamptz not null default now(),
    by text not null,
    v integer not null,
    planned boolean not null,
    sum bytea not null,
    body text not null,
    primary key (tenant, repo, seq),
    unique (tenant, repo, key)
) partition by hash (repo);

do $$
begin
    for part in 0..15 loop
        execute format(
            'create table twining.log_%s partition of twining.log
             for values with (modulus 16, remainder %s)', part, part);
    end loop;
end
$$;

create table twining.doc (
    tenant text collate "C" not null,
    repo text collate "C" not null,
    name text collate "C" not null check (length(name) between 1 and 64),
    version bigint not null,
    at timestamptz not null default now(),
    by text not null,
    body text not null,
    primary key (tenant, repo, name),
    foreign key (tenant, repo) references twining.repo
);

create table twining.token (
    tenant text collate "C" not null references twining.tenant,
    id text collate "C" not null unique check (length(id) = 26),
    name text not null,
    kind text not null check (kind in ('agent', 'person', 'machine', 'admin')),
    hash bytea not null check (length(hash) = 32),
    grants text[] not null,
    made_by text not null,
    made_at timestamptz not null default now(),
    expires_at timestamptz not null check (expires_at <= made_at + interval '366 days'),
    revoked_at timestamptz,
    used_on date,
    primary key (tenant, id)
);

create table twining.audit (
    tenant text collate "C" not null,
    number bigint generated always as identity,
    at timestamptz not null default now(),
    by text not null,
    via text not null,
    act text not null,
    target text not null,
    outcome text not null,
    primary key (tenant, number)
);

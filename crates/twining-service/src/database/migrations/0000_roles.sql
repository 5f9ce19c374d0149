-- Roles and schema. Carried out whenever the schema is brought up to date, by the login that asks
-- for it: only the first time does it need the right to make roles.
do $$
begin
    if not exists (select from pg_roles where rolname = 'twining_owner') then
        create role twining_owner nologin;
    end if;
    if not exists (select from pg_roles where rolname = 'twining_app') then
        create role twining_app login;
    end if;
exception
    -- Roles belong to the whole server: another database may be set up at the same time.
    when duplicate_object or unique_violation then null;
end
$$;

-- Whoever sets it up also acts as both: the owner administers, and what it does is put on record as
-- the one who serves. Since PostgreSQL 16 whoever makes a role is a member without being allowed to
-- act as it.
do $$
declare
    may_act constant text :=
        case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end;
begin
    if not pg_has_role(session_user, 'twining_owner', may_act) then
        execute format('grant twining_owner to %I', session_user);
    end if;
    if not pg_has_role(session_user, 'twining_app', may_act) then
        begin
            execute format('grant twining_app to %I', session_user);
        exception
            -- A login that only owns the schema may bring it up to date; what more it needs, the
            -- commands say.
            when insufficient_privilege then null;
        end;
    end if;
    if not exists (select from pg_namespace where nspname = 'twining') then
        create schema twining;
        alter schema twining owner to twining_owner;
    end if;
end
$$;

-- What all repositories of a tenant may hold together; null is without a limit.
--
-- A sum over the repositories would be wrong while others append, and one row that every append
-- of a tenant locks would make them wait for each other. So each repository has a share of the
-- total, and an append compares with that: it is in the row it locks anyway. A share that is used
-- up is made larger out of what the tenant has left. The shares never exceed the total together.
alter table twining.tenant
    add column total_records bigint check (total_records >= 0),
    add column total_bytes bigint check (total_bytes >= 0);
-- None at first: the first append asks for one.
alter table twining.repo
    add column record_share bigint not null default 0,
    add column byte_share bigint not null default 0;

-- Makes room for so many more records and bytes in a repository's share: `taken`, or `none` if
-- the tenant has too little left, or `enough` if there was room already. A little more is taken
-- than was asked for, so that few appends ask.
create function twining.take_share(of_repo text, more_records bigint, more_bytes bigint)
    returns text language plpgsql security definer set search_path = pg_catalog
    as $$
declare
    of_tenant constant text := current_setting('twining.tenant');
    no_limit constant numeric := 9223372036854775807;
    total record;
    mine record;
    others record;
    left_records numeric;
    left_bytes numeric;
begin
    -- One at a time in a tenant.
    select total_records, total_bytes into total
        from twining.tenant where id = of_tenant for no key update;
    select records, bytes, record_share, byte_share into mine
        from twining.repo where tenant = of_tenant and id = of_repo for no key update;
    if not found then
        return 'none';
    end if;
    if mine.records + more_records <= mine.record_share
       and mine.bytes + more_bytes <= mine.byte_share then
        return 'enough';
    end if;
    for attempt in 1..2 loop
        -- A node of an earlier version takes no share: then what it wrote counts.
        select coalesce(sum(greatest(records, record_share)), 0) as records,
               coalesce(sum(greatest(bytes, byte_share)), 0) as bytes
            into others from twining.repo where tenant = of_tenant and id <> of_repo;
        left_records := case when total.total_records is null then no_limit
                             else total.total_records - others.records end - mine.records;
        left_bytes := case when total.total_bytes is null then no_limit
                           else total.total_bytes - others.bytes end - mine.bytes;
        if left_records >= more_records and left_bytes >= more_bytes then
            -- Without a limit all of it; else at most half of what is left.
            update twining.repo set
                record_share = records + case when total.total_records is null then left_records
                    else greatest(more_records, least(16384, div(left_records, 2))) end,
                byte_share = bytes + case when total.total_bytes is null then left_bytes
                    else greatest(more_bytes, least(16777216, div(left_bytes, 2))) end
                where tenant = of_tenant and id = of_repo;
            return 'taken';
        end if;
        -- What others hold and do not use.
        update twining.repo set record_share = least(record_share, records),
                                byte_share = least(byte_share, bytes)
            where tenant = of_tenant and id <> of_repo
              and (record_share > records or byte_share > bytes);
    end loop;
    return 'none';
end
$$;

revoke all on function twining.take_share(text, bigint, bigint) from public;
grant execute on function twining.take_share(text, bigint, bigint) to twining_app;

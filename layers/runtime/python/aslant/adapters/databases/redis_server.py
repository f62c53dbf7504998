"""Redis by redis-py: listed commands only, arguments as they are, several in one MULTI."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aslant.adapters.databases import guard
from aslant.contracts import MAX_PAYLOAD, Json
from aslant.database_ports import DatabaseAddress, QueryRequest, QueryResult, QueryStatement
from aslant.errors import (
    AuthenticationError,
    AuthorizationError,
    NetworkError,
    PayloadTooLarge,
    ServerError,
    StepError,
    StepTimeout,
    ValidationError,
)
from aslant.values import exact, render


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Commands on data that end at once. No administration, scripts, waiting, subscriptions, other servers, other databases.
_READS = _names("""
    GET MGET STRLEN GETRANGE SUBSTR EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS
    HSTRLEN HSCAN HRANDFIELD LRANGE LLEN LINDEX LPOS SMEMBERS SCARD SISMEMBER SMISMEMBER SRANDMEMBER SSCAN SINTER SUNION
    SDIFF SINTERCARD ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZCARD ZCOUNT ZLEXCOUNT ZSCORE
    ZMSCORE ZRANK ZREVRANK ZSCAN ZRANDMEMBER ZINTER ZUNION ZDIFF ZINTERCARD BITCOUNT BITPOS GETBIT BITFIELD_RO PFCOUNT
    GEOPOS GEODIST GEOHASH GEOSEARCH XLEN XRANGE XREVRANGE XPENDING SCAN DBSIZE PING ECHO TIME RANDOMKEY LCS TOUCH
""")
_WRITES = _names("""
    SET SETNX SETEX PSETEX MSET MSETNX APPEND SETRANGE INCR INCRBY INCRBYFLOAT DECR DECRBY GETSET GETDEL GETEX DEL UNLINK
    EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST RENAME RENAMENX HSET HSETNX HMSET HDEL HINCRBY HINCRBYFLOAT LPUSH RPUSH
    LPUSHX RPUSHX LPOP RPOP LSET LINSERT LREM LTRIM LMOVE RPOPLPUSH SADD SREM SPOP SMOVE SINTERSTORE SUNIONSTORE SDIFFSTORE
    ZADD ZREM ZINCRBY ZPOPMIN ZPOPMAX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX ZRANGESTORE ZINTERSTORE ZUNIONSTORE
    ZDIFFSTORE SETBIT BITOP BITFIELD PFADD PFMERGE GEOADD GEOSEARCHSTORE XADD XDEL XTRIM XACK PUBLISH
""")
_PLACE = re.compile(r"\$(?P<number>[0-9]+)|\$(?P<name>[A-Za-z_]\w*)")
_MAX_WORDS = 10_000
_MOST_BYTES = 8 * MAX_PAYLOAD  # of all answers as they are sent


@dataclass(frozen=True, slots=True)
class Redis:
    where: DatabaseAddress
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        import redis

        deadline = time.monotonic() + request.timeout
        commands = [_words(each) for each in request.statements]
        for command in commands:
            _check(command, request.read_only)
        try:
            with guard.connect(self.where, self.allow, deadline) as sock, sock.dup() as handle, guard.cut_off(handle, deadline):
                answers = _exchange(self.where, sock, commands, max(0.1, deadline - time.monotonic()))
        except (redis.RedisError, OSError, ValueError, RecursionError) as error:
            raise self._error(error, deadline) from None
        left = [MAX_PAYLOAD]
        shown = [_shown(answer, request.max_rows, left) for answer in answers]
        return [QueryResult(value=_pairs(command, each)) for command, each in zip(commands, shown, strict=True)]

    def _error(self, error: Exception, deadline: float) -> StepError:
        import redis

        shown = f"Redis at {self.where.host}:{self.where.port}"
        message = " ".join(str(error).split())[:500]
        if time.monotonic() >= deadline or isinstance(error, TimeoutError | redis.TimeoutError):
            return StepTimeout(f"{shown} did not answer in time")
        code = message.partition(" ")[0]
        if isinstance(error, redis.AuthenticationError) or code in ("WRONGPASS", "NOAUTH"):
            return AuthenticationError(f"{shown}: {message}")
        if isinstance(error, redis.exceptions.NoPermissionError) or code in ("NOPERM", "READONLY"):
            return AuthorizationError(f"{shown}: {message}")
        if code in ("LOADING", "OOM", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"):
            return ServerError(f"{shown}: {message}")
        if isinstance(error, redis.InvalidResponse | ValueError | RecursionError):
            return NetworkError(f"{shown} does not answer as Redis does")
        if isinstance(error, redis.ConnectionError | OSError):
            return NetworkError(f"{shown}: {message}")
        return ValidationError(f"{shown}: {message}")


def _exchange(where: DatabaseAddress, sock: Any, commands: list[list[bytes]], left: float) -> list[Any]:
    """The answers to commands over a socket that is connected already."""
    import redis
    from redis.backoff import NoBackoff
    from redis.connection import Connection
    from redis.retry import Retry

    tls = guard.context(where) if where.tls != "disable" else None
    sock.settimeout(left)

    class Pinned(Connection):
        def _connect(self) -> Any:
            return _Bounded(sock if tls is None else tls.wrap_socket(sock, server_hostname=where.host))

    pinned: Any = Pinned
    connection = pinned(
        host=where.host, port=where.port, username=where.user or None, password=where.password or None,
        db=int(where.name or 0), socket_timeout=left, retry=Retry(NoBackoff(), 0), health_check_interval=0, protocol=2,
        driver_info=None,
    )
    try:
        connection.connect()
        together = [[b"MULTI"], *commands, [b"EXEC"]] if len(commands) > 1 else commands
        answers: list[Any] = []
        for command in together:
            connection.send_command(*command)
            answers.append(connection.read_response())
        if len(commands) == 1:
            return answers
        failed = next((each for each in answers[-1] if isinstance(each, redis.RedisError)), None)
        if failed is not None:
            raise failed
        return list(answers[-1])
    finally:
        connection.disconnect()


class _Bounded:
    """A socket that so many bytes come out of: a value may have 512 MB, and what is no answer at all has no end."""

    def __init__(self, sock: Any) -> None:
        self._sock, self._left = sock, _MOST_BYTES

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def recv(self, size: int) -> bytes:
        data: bytes = self._sock.recv(size)
        self._counted(len(data))
        return data

    def recv_into(self, buffer: Any, *more: Any) -> int:
        size: int = self._sock.recv_into(buffer, *more)
        self._counted(size)
        return size

    def _counted(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise PayloadTooLarge(f"the answer has more than {_MOST_BYTES:,} bytes; ask for less")


def _words(statement: QueryStatement) -> list[bytes]:
    """A command's words. It is taken apart before values are put in, so a value is never more than one argument."""
    try:
        words = shlex.split(statement.text, comments=False)
    except ValueError as error:
        raise ValidationError(f"the command cannot be read: {error}") from None
    given = statement.values
    if not isinstance(given, Mapping) and "?" in words and any(_PLACE.search(word) for word in words):
        raise ValidationError("a command has placeholders of one kind: `?` or `$1`")
    used: set[str] = set()
    marks = iter(given if not isinstance(given, Mapping) else ())
    found: list[bytes] = []
    for word in words:
        if word == "?" and not isinstance(given, Mapping) and given:
            value = next(marks, _MISSING)
            if value is _MISSING:
                raise ValidationError(f"the command has more placeholders than its {len(given)} parameters")
            used.add(str(len(used) + 1))
            found.append(_bytes(value))
        elif isinstance(given, Mapping) and word[:1] == ":" and word[1:] in given:
            found.append(_bytes(given[word[1:]]))
        elif given:
            found.append(_PLACE.sub(lambda place: render(_value(place, given, used)), word).encode("utf-8", "surrogatepass"))
        else:
            found.append(word.encode("utf-8", "surrogatepass"))
    if not isinstance(given, Mapping) and len(used) != len(given):
        raise ValidationError(f"the command has other placeholders than its {len(given)} parameters")
    if len(found) > _MAX_WORDS:
        raise ValidationError(f"a command has at most {_MAX_WORDS:,} arguments")
    return found


_MISSING: Any = object()


def _value(place: re.Match[str], given: Sequence[Json] | Mapping[str, Json], used: set[str]) -> Json:
    if isinstance(given, Mapping):
        name = place["name"]
        if name is None or name not in given:
            raise ValidationError(f"the command's placeholder {place[0][:60]} has no parameter")
        return given[name]
    if place["number"] is None:
        return place[0]
    number = int(place["number"][:9])
    if not 1 <= number <= len(given):
        raise ValidationError(f"the command's placeholder {place[0][:12]} has no parameter: there are {len(given)}")
    used.add(str(number))
    return given[number - 1]


def _bytes(value: Json) -> bytes:
    return render(value).encode("utf-8", "surrogatepass")


def _check(command: list[bytes], read_only: bool) -> None:
    if not command:
        raise ValidationError("the command is empty")
    name = command[0].decode("utf-8", "replace").upper()
    if name not in _READS and name not in _WRITES:
        raise ValidationError(f"{name[:40]} is no command of a query step")
    if read_only and name not in _READS:
        raise AuthorizationError(f"{name} is not among the commands that only read")


def _pairs(command: list[bytes], shown: Json) -> Json:
    """Fields and values of HGETALL as an object."""
    if command[0].upper() != b"HGETALL" or not isinstance(shown, list):
        return shown
    return {render(name): value for name, value in zip(shown[::2], shown[1::2], strict=True)}


def _shown(answer: Any, most: int, left: list[int]) -> Json:
    """An answer as JSON: bytes that are no text as `{"base64": …}`. `left` are the bytes that may still come."""
    import base64

    if isinstance(answer, bytes):
        left[0] -= len(answer)
        if left[0] < 0:
            raise PayloadTooLarge(f"the answer has more than {MAX_PAYLOAD:,} bytes; ask for less")
        try:
            return answer.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(answer).decode()}
    if isinstance(answer, list | tuple):
        if len(answer) > most:
            raise PayloadTooLarge(f"the answer has {len(answer):,} items; max_rows is {most:,}")
        return [_shown(each, most, left) for each in answer]
    return exact(answer) if answer is None or isinstance(answer, bool | int) else str(answer)

"""JSONata functions that the writer puts before an expression when the expression uses them.

Names of the form `$_x` are reserved for them and for the writer's own variables. Each is total or calls `$error`, and
each was compared with the reference evaluator under both engines.
"""

from __future__ import annotations

import re

_BODIES = {
    # a key of an object; null for everything else
    "a": 'function($o,$k){($v:=$type($o)="object"?$lookup($o,$k);$exists($v)?$v:null)}',
    # an item or a key, whatever it is
    "get": 'function($o,$k){($t:=$type($o);$n:=$type($k);$v:=$t="array"?$n="number"?$floor($k)=$k?$o[$k]'
        ':null:null:$t="object"?$n="string"?$k in $keys($o)?$lookup($o,$k);$exists($v)?$v:null)}',
    "or": "function($v,$d){$v=null?$d:$v}",
    # truth
    "b": 'function($v){$type($v)="array"?$count($v)>0:$boolean($v)}',
    # text: of a number, of any value as JSON, of any value inside of text
    "n": "function($n){$abs($n)<1e15?$string($n):$formatBase($n,10)}",
    "j": 'function($v){($t:=$type($v);$t="array"?"["&$join([$map($v,$_j)],",")&"]":$t="object"?"{"&$join([$each($v,'
        'function($w,$k){$_j($k)&":"&$_j($w)})],",")&"}":$t="number"?$abs($v)<1e15?$string($v):$formatBase($v,10):'
        "($s:=$string([$v]);$substring($s,1,$length($s)-2)))}",
    "t": 'function($v){$v=null?"":$type($v)="string"?$v:$_j($v)}',
    # checks
    "list": 'function($v){$type($v)="array"?$v:$error("not a list")}',
    "object": 'function($v){$type($v)="object"?$v:$error("not an object")}',
    # a list with this one item, also when the item is a list
    "w": 'function($v){$type($v)="array"?[[$v]]:[$v]}',
    "plus": 'function($a,$b){($t:=$type($a)&$type($b);$t="stringstring"?$a&$b:$t="arrayarray"?$append($a,$b):$a+$b+0)}',
    "mod": "function($a,$b){$a-$b*$floor($a/$b+0)}",
    "in": 'function($x,$y){($t:=$type($y);$t="array"?true in $map($y,function($i){$i=$x}):$type($x)!="string"?'
        '$error("not a text"):$t="string"?$contains($y,$x):$t="object"?$x in $keys($y):$error("not a list"))}',
    "len": 'function($v){($t:=$type($v);$t="array"?$count($v):$t="object"?$count($keys($v)):$length($v))}',
    "starts": "function($s,$p){$substring($s,0,$length($p))=$p}",
    "ends": "function($s,$p){($n:=$length($s)-$length($p);$n>=0?$substring($s,$n)=$p:false)}",
    "trim": r'function($s){$replace($replace($s,/^[ \t\n\r]+/,""),/[ \t\n\r]+$/,"")}',
    "replace": "function($s,$o,$n){$join($split($s,$o),$n)}",
    "min": "function($l){($v:=$min($_list($l));$exists($v)?$v:null)}",
    "max": "function($l){($v:=$max($_list($l));$exists($v)?$v:null)}",
    "avg": "function($l){$count($_list($l))=0?null:$sum($l)/$count($l)+0}",
    "merge": "function($l){$count($map($l,$_own))=0?{}:$merge($l)}",
    # an object that JavaScript can copy
    "own": 'function($v){"__proto__" in $keys($_object($v))?$error("__proto__"):$v}',
}
_USE = re.compile(r"\$_([a-z]+)")


def with_helpers(code: str) -> str:
    """The code, with the definition of each helper that it or another helper uses before it."""
    needed: list[str] = []
    todo = [code]
    while todo:
        for name in _USE.findall(todo.pop()):
            if name not in needed:
                needed.append(name)
                todo.append(_BODIES[name])
    if not needed:
        return code
    definitions = ";".join(f"$_{name}:={_BODIES[name]}" for name in sorted(needed))
    return f"({definitions};{code})"

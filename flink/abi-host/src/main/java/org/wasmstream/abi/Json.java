package org.wasmstream.abi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON that is sound: maps, lists, strings, doubles, booleans, null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.next();
    if (json.at < text.length()) {
      throw new IllegalArgumentException("more than a value, at " + json.at);
    }
    return value;
  }

  /** The next character that is no space; 0 at the end. */
  private char next() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
      at++;
    }
    return at < text.length() ? text.charAt(at) : 0;
  }

  private boolean took(char c) {
    if (next() != c) {
      return false;
    }
    at++;
    return true;
  }

  private void take(char c) {
    if (!took(c)) {
      throw new IllegalArgumentException("no " + c + " at " + at);
    }
  }

  private Object value() {
    switch (next()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        at += 4;
        return true;
      case 'f':
        at += 5;
        return false;
      case 'n':
        at += 4;
        return null;
      default:
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
          at++;
        }
        return Double.valueOf(text.substring(from, at));
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> map = new LinkedHashMap<>();
    take('{');
    while (!took('}')) {
      String key = string();
      take(':');
      map.put(key, value());
      if (!took(',')) {
        take('}');
        break;
      }
    }
    return map;
  }

  private List<Object> array() {
    List<Object> list = new ArrayList<>();
    take('[');
    while (!took(']')) {
      list.add(value());
      if (!took(',')) {
        take(']');
        break;
      }
    }
    return list;
  }

  private String string() {
    StringBuilder b = new StringBuilder();
    take('"');
    for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
      if (c != '\\') {
        b.append(c);
        continue;
      }
      char escaped = text.charAt(at++);
      int known = "bfnrt".indexOf(escaped);
      if (escaped == 'u') {
        b.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
        at += 4;
      } else {
        b.append(known < 0 ? escaped : "\b\f\n\r\t".charAt(known));
      }
    }
    return b.toString();
  }
}

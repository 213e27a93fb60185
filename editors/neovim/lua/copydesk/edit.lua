-- `workspace/applyEdit` of the daemon: all or nothing, only on the version that it was made for, and one undo step a buffer,
-- also between two keys of a user who is typing.

local documents = require('copydesk.documents')
local files = require('copydesk.files')

local M = {}

--- Begins a new undo step in the current buffer. In Insert mode, too: what is typed next is a step of its own.
local function break_undo()
  vim.bo.undolevels = vim.bo.undolevels
end

--- Sends pending changes of the buffer to all its servers at once: the daemon waits for what the edit has become, and diagnostics are of it.
---@param buffer integer
local function flush(buffer)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer })) do
    documents.flush(client, buffer)
  end
end

---@class copydesk.DocumentEdits
---@field buffer integer
---@field edits lsp.TextEdit[]

---@param reason string
---@return lsp.ApplyWorkspaceEditResult
local function refuse(reason)
  return { applied = false, failureReason = reason }
end

--- The documents of an edit, each checked, or why it cannot be applied.
---@param changes table[]
---@return copydesk.DocumentEdits[]?
---@return string? reason
local function check(changes)
  local documents = {}
  for _, change in ipairs(changes) do
    local document = change.textDocument
    local buffer = files.buffer_of(document.uri)
    local versioned = type(document.version) == 'number'
    if versioned and not (buffer and vim.api.nvim_buf_is_loaded(buffer)) then
      return nil, ('%s is not open'):format(document.uri)
    end
    buffer = buffer or vim.uri_to_bufnr(document.uri)
    vim.fn.bufload(buffer)
    local version = vim.lsp.util.buf_versions[buffer]
    if versioned and version ~= document.version then
      -- Told before the refusal, so that the next try is for the text as it is.
      flush(buffer)
      return nil,
        ('%s has changed: the edit is for version %d, this is version %d'):format(
          document.uri,
          document.version,
          version
        )
    end
    if not vim.bo[buffer].modifiable then
      return nil, ("%s cannot be changed: 'modifiable' is off"):format(document.uri)
    end
    if vim.bo[buffer].readonly then
      -- Neovim would stop for a warning.
      return nil, ("%s cannot be changed: 'readonly' is set"):format(document.uri)
    end
    documents[#documents + 1] = { buffer = buffer, edits = change.edits }
  end
  return documents
end

---@param a lsp.Position
---@param b lsp.Position
---@return boolean
local function is_before(a, b)
  return a.line < b.line or a.line == b.line and a.character < b.character
end

--- The edits in their order, those that touch made one.
---@param edits lsp.TextEdit[]
---@return lsp.TextEdit[]
local function merged(edits)
  local order = {}
  for index, edit in ipairs(edits) do
    order[index] = { index = index, edit = edit }
  end
  table.sort(order, function(a, b)
    local left, right = a.edit.range.start, b.edit.range.start
    return is_before(left, right) or not is_before(right, left) and a.index < b.index
  end)
  local result = {}
  for _, entry in ipairs(order) do
    local edit = entry.edit
    local last = result[#result]
    if last and is_before(edit.range.start, last.range['end']) then
      error('the edits overlap', 0)
    elseif last and not is_before(last.range['end'], edit.range.start) then
      last.newText = last.newText .. edit.newText
      last.range['end'] = edit.range['end']
    else
      result[#result + 1] = vim.deepcopy(edit)
    end
  end
  return result
end

--- The end of a text lies behind its last line break, where a buffer has no line. An edit that reaches there is put in terms of the last
--- line; `vim.lsp.util` alone would leave an empty line behind an insertion.
---@param edits lsp.TextEdit[]
---@param buffer integer
---@param encoding string
---@return lsp.TextEdit[]
local function within(edits, buffer, encoding)
  edits = merged(edits)
  local edit = edits[#edits]
  local count = vim.api.nvim_buf_line_count(buffer)
  if not edit or edit.range['end'].line < count then
    return edits
  end
  ---@param row integer
  local function line_end(row)
    local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    return { line = row, character = vim.str_utfindex(line, encoding) }
  end
  local start = edit.range.start
  edit.range['end'] = line_end(count - 1)
  local options = vim.bo[buffer]
  local ends = options.endofline or options.fixendofline and not options.binary
  if start.line >= count and edit.newText == '' then
    edits[#edits] = nil
  elseif start.line >= count then
    edit.range.start = line_end(count - 1)
    edit.newText = ends and '\n' .. edit.newText:gsub('\r?\n$', '') or edit.newText
  elseif ends and edit.newText == '' and start.character == 0 and start.line > 0 then
    edit.range.start = line_end(start.line - 1)
  elseif ends then
    edit.newText = edit.newText:gsub('\r?\n$', '')
  end
  return edits
end

--- Applies the edits as one undo step. On an error the buffer is as before.
---@param document copydesk.DocumentEdits
---@param encoding string
---@return boolean applied
---@return string? reason
local function apply(document, encoding)
  local buffer = document.buffer
  local applied, reason
  vim.api.nvim_buf_call(buffer, function()
    break_undo()
    local before = vim.fn.undotree(buffer).seq_cur
    applied, reason = pcall(function()
      vim.lsp.util.apply_text_edits(within(document.edits, buffer, encoding), buffer, encoding)
    end)
    break_undo()
    if not applied and vim.fn.undotree(buffer).seq_cur ~= before then
      vim.cmd(('silent undo %d'):format(before))
    end
  end)
  return applied, reason
end

---@param documents copydesk.DocumentEdits[]
local function take_back(documents)
  for _, document in ipairs(documents) do
    vim.api.nvim_buf_call(document.buffer, function()
      vim.cmd('silent undo')
    end)
  end
end

--- A map of edits by URI in the form of a list of versioned documents.
---@param edit lsp.WorkspaceEdit
---@return table[]
local function changes_of(edit)
  if edit.documentChanges then
    return edit.documentChanges
  end
  local changes = {}
  for uri, edits in pairs(edit.changes or {}) do
    changes[#changes + 1] = { textDocument = { uri = uri }, edits = edits }
  end
  return changes
end

--- The answer to `workspace/applyEdit`.
---@param params lsp.ApplyWorkspaceEditParams
---@param encoding string
---@return lsp.ApplyWorkspaceEditResult
function M.apply(params, encoding)
  local changes = changes_of(params.edit)
  for _, change in ipairs(changes) do
    if change.kind then
      -- Files are created, renamed and deleted by the daemon itself; where one asks for it all the same, Neovim knows how.
      local applied, reason = pcall(vim.lsp.util.apply_workspace_edit, params.edit, encoding)
      return applied and { applied = true } or refuse(tostring(reason))
    end
  end
  local documents, reason = check(changes)
  if not documents then
    return refuse(reason --[[@as string]])
  end
  local done = {}
  for _, document in ipairs(documents) do
    local applied, problem = apply(document, encoding)
    if not applied then
      take_back(done)
      return refuse(tostring(problem))
    end
    done[#done + 1] = document
  end
  for _, document in ipairs(done) do
    flush(document.buffer)
  end
  return { applied = true }
end

return M

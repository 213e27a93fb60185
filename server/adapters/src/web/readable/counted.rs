//! A tree that counts the nodes that a parser makes, so that one need not go over it to know that it has grown. All else is `RcDom`'s.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName};
use markup5ever_rcdom::{Node, RcDom};

#[derive(Default)]
pub(super) struct Counted {
    dom: RcDom,
    made: Cell<usize>,
}

impl Counted {
    /// At least as many as there are in the tree; texts that become one are counted each.
    pub(super) fn made(&self) -> usize {
        self.made.get()
    }

    pub(super) fn document(&self) -> &Rc<Node> {
        &self.dom.document
    }

    fn count(&self, nodes: usize) {
        self.made.set(self.made.get().saturating_add(nodes));
    }

    fn count_text(&self, child: &NodeOrText<Rc<Node>>) {
        if let NodeOrText::AppendText(_) = child {
            self.count(1);
        }
    }
}

impl TreeSink for Counted {
    type Handle = Rc<Node>;
    type Output = RcDom;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> RcDom {
        self.dom
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Rc<Node> {
        // The content of a template is one of its own.
        self.count(if flags.template { 2 } else { 1 });
        self.dom.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Rc<Node> {
        self.count(1);
        self.dom.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Rc<Node> {
        self.count(1);
        self.dom.create_pi(target, data)
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.count_text(&child);
        self.dom.append(parent, child);
    }

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.count_text(&child);
        self.dom.append_before_sibling(sibling, child);
    }

    fn append_based_on_parent_node(&self, element: &Rc<Node>, previous: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.count_text(&child);
        self.dom.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.count(1);
        self.dom.append_doctype_to_document(name, public_id, system_id);
    }

    fn maybe_clone_an_option_into_selectedcontent(&self, option: &Rc<Node>) {
        // It may copy any number.
        self.count(super::MAX_NODES);
        self.dom.maybe_clone_an_option_into_selectedcontent(option);
    }

    fn parse_error(&self, msg: Cow<'static, str>) {
        self.dom.parse_error(msg);
    }

    fn get_document(&self) -> Rc<Node> {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        self.dom.elem_name(target)
    }

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, x: &Rc<Node>, y: &Rc<Node>) -> bool {
        self.dom.same_node(x, y)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn add_attrs_if_missing(&self, target: &Rc<Node>, attrs: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Rc<Node>) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Rc<Node>, new_parent: &Rc<Node>) {
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Rc<Node>) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
    }
}
